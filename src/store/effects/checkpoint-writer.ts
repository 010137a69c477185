/** Checkpoints of accounts: what their history came to at some of their blocks. */
import type { Database } from 'bun:sqlite';
import type { Effect } from '../../chain/effect.ts';
import { accountStates } from '../queries/account-states.ts';
import { table } from '../rows/table.ts';
import { accountCheckpointsTable, tokenCheckpointsTable } from '../rows/tables.ts';
import type { BusyRows } from './busy-rows.ts';
import type { Dictionaries } from './dictionary.ts';

/**
 * What sets and takes back checkpoints through this connection. Every other effect of the block is applied then.
 * @param every how many transactions and rewards of an account it has one
 */
export function checkpointWriter(
  db: Database,
  { principals }: Dictionaries,
  { accounts: counts }: BusyRows,
  every: number,
) {
  const states = accountStates(db);
  const accounts = table(db, accountCheckpointsTable);
  const tokens = table(db, tokenCheckpointsTable);

  function add(principal: number, height: number): void {
    const state = states.at(principal, height);
    for (const { token, assetId, sent, received } of states.changed(principal, height)) {
      tokens.add({
        principal_id: principal,
        token,
        asset_id: assetId,
        height,
        sent: String(sent),
        received: String(received),
      });
    }
    accounts.add({
      principal_id: principal,
      height,
      transactions: state.transactions,
      sponsored_only: state.sponsoredOnly,
      events: state.events,
      locks: state.locks,
      inbound: state.inbound,
      last_nonce: state.lastNonce,
      sent: String(state.sent),
      received: String(state.received),
      fees: String(state.fees),
      mined: String(state.mined),
    });
  }

  function remove(principal: number, height: number): void {
    // Once the checkpoint is gone, what changed is found from the one before, as when this one was set.
    accounts.remove({ principal_id: principal, height });
    for (const { token, assetId } of states.changed(principal, height)) {
      tokens.remove({ principal_id: principal, token, asset_id: assetId, height });
    }
  }

  return (effect: Extract<Effect, { kind: 'checkpoint' }>): void => {
    const { sign, height, entries } = effect;
    const principal = principals.id(effect.principal);
    const account = counts.get({ principal_id: principal });
    const after = account === null ? 0 : account.transactions + account.rewards;
    if (Math.floor(after / every) === Math.floor((after - entries) / every)) return;
    if (sign === 1) add(principal, height);
    else remove(principal, height);
  };
}
