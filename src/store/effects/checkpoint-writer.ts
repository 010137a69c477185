/** Checkpoints of accounts: what their history came to at some of their blocks. */
import type { Database } from 'bun:sqlite';
import type { Effect } from '../../chain/effect.ts';
import { accountStates } from '../queries/account-states.ts';
import { table } from '../rows/table.ts';
import type { Dictionaries } from './dictionary.ts';

/**
 * What sets and takes back checkpoints through this connection. Every other effect of the block is applied then.
 * @param every how many transactions and rewards of an account it has one
 */
export function checkpointWriter(db: Database, { principals }: Dictionaries, every: number) {
  const states = accountStates(db);
  const entriesOf = db.prepare<{ entries: number }, [number]>(
    'SELECT transactions + rewards AS entries FROM accounts WHERE principal_id = ?1',
  );
  const accounts = table(
    db,
    'account_checkpoints',
    [
      'principal_id',
      'height',
      'transactions',
      'sponsored_only',
      'events',
      'locks',
      'inbound',
      'last_nonce',
      'sent',
      'received',
      'fees',
      'mined',
    ],
    2,
  );
  const tokens = table(db, 'token_checkpoints', ['principal_id', 'token', 'asset_id', 'height', 'sent', 'received'], 4);

  function add(principal: number, height: number): void {
    const state = states.at(principal, height);
    for (const { token, assetId, sent, received } of states.changed(principal, height)) {
      tokens.add(principal, token, assetId, height, String(sent), String(received));
    }
    accounts.add(
      principal,
      height,
      state.transactions,
      state.sponsoredOnly,
      state.events,
      state.locks,
      state.inbound,
      state.lastNonce,
      String(state.sent),
      String(state.received),
      String(state.fees),
      String(state.mined),
    );
  }

  function remove(principal: number, height: number): void {
    // Without it, what changed is found from the checkpoint before, as when this one was set.
    accounts.remove(principal, height);
    for (const { token, assetId } of states.changed(principal, height)) {
      tokens.remove(principal, token, assetId, height);
    }
  }

  /** @param known how many transactions and rewards the account has with this block, where that was just seen */
  return (effect: Extract<Effect, { kind: 'checkpoint' }>, known: number | undefined): void => {
    const { sign, height, entries } = effect;
    const principal = principals.id(effect.principal);
    const after = known ?? entriesOf.get(principal)?.entries ?? 0;
    if (Math.floor(after / every) === Math.floor((after - entries) / every)) return;
    if (sign === 1) add(principal, height);
    else remove(principal, height);
  };
}
