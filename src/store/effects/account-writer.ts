/** Writes accounts, with their STX and the lengths of their lists, and checkpoints with the sums of their history. */
import type { Database } from 'bun:sqlite';
import type { EffectOf } from '../../chain/effect.ts';
import { accountStates } from '../queries/accounts/account-states.ts';
import { historyStartQuery } from '../queries/blocks/chain.ts';
import { decimalOf, isPositive, sortable } from '../rows/formats.ts';
import { query, type Stored } from '../rows/statement.ts';
import { modelInserter, table } from '../rows/table.ts';
import { accountCheckpointsTable, startingAccountsTable, tokenCheckpointsTable } from '../rows/tables.ts';
import type { Dictionaries } from './dictionary.ts';
import type { HotRows } from './hot-rows.ts';

type Account = Stored<'accounts'>;

const emptyAccount = (principal_id: number, address: string): Account => ({
  principal_id,
  address,
  balance: sortable('0'),
  stx_moves: 0,
  transactions: 0,
  rewards: 0,
  stx_inbound: 0,
  stx_outbound: 0,
  sent: 0,
  paid: 0,
  calls: 0,
  ft_tokens: 0,
  nfts: 0,
});

const applyMove = (account: Account, effect: EffectOf<'account'>): Account => {
  const { sign } = effect;
  return {
    principal_id: account.principal_id,
    address: account.address,
    balance: sortable((BigInt(decimalOf(account.balance)) + BigInt(sign) * effect.balance).toString()),
    stx_moves: account.stx_moves + sign * effect.stxMoves,
    transactions: account.transactions + sign * effect.transactions,
    rewards: account.rewards + sign * effect.rewards,
    stx_inbound: account.stx_inbound + sign * effect.stxInbound,
    stx_outbound: account.stx_outbound + sign * effect.stxOutbound,
    sent: account.sent + sign * effect.sent,
    paid: account.paid + sign * effect.paid,
    calls: account.calls + sign * effect.calls,
    ft_tokens: account.ft_tokens,
    nfts: account.nfts,
  };
};

/** The state of an account until the node returns it. */
const UNASKED = { balance: null, locked: null, unlock_height: null, nonce: null };

/**
 * Marks the accounts that blocks touch in a partial history, so that Stackside requests their state from the node. A fork that
 * removes the last row about an account also removes the mark, unless the node has answered.
 */
export function touchMarks(db: Database, { accounts }: HotRows) {
  const start = historyStartQuery(db);
  const { addIfAbsent: mark } = table(db, startingAccountsTable);
  const unmark = query<null, [number]>`
    DELETE FROM starting_accounts
     WHERE principal_id = ?1 AND balance IS NULL
       AND NOT EXISTS (SELECT 1 FROM stx_locks WHERE principal_id = ?1)`.prepared(db);
  let isPartial = false;
  return {
    /** Reads whether the history is partial. Called before the effects of each block. */
    begin(): void {
      isPartial = start() !== null;
    },
    /** A row of the account, or of its locks, was added. */
    touched(principal: number): void {
      if (isPartial) mark({ principal_id: principal, ...UNASKED });
    },
    /** A row of the account, or of its locks, was removed. */
    left(principal: number): void {
      if (isPartial && accounts.get({ principal_id: principal }) === null) unmark.run(principal);
    },
  };
}
export type TouchMarks = ReturnType<typeof touchMarks>;

/**
 * Applies effects on accounts.
 * @param countAccounts adds to the numbers of accounts with a balance, and of accounts that moved STX
 */
export function accountWriter(
  { principals }: Dictionaries,
  { accounts }: HotRows,
  marks: TouchMarks,
  countAccounts: (holders: number, movers: number) => void,
) {
  return (effect: EffectOf<'account'>): void => {
    const { principal } = effect;
    const key = { principal_id: principals.id(principal) };
    const row = accounts.get(key);
    const before = row ?? emptyAccount(key.principal_id, principal);
    const after = applyMove(before, effect);
    if (after.transactions === 0 && after.rewards === 0) {
      accounts.remove(key);
      marks.left(key.principal_id);
    } else {
      accounts.put(after);
      if (row === null) marks.touched(key.principal_id);
    }
    const holders = Number(isPositive(after.balance)) - Number(isPositive(before.balance));
    const movers = Number(after.stx_moves > 0) - Number(before.stx_moves > 0);
    countAccounts(holders, movers);
  };
}

/** Column with an account's number of tokens: fungible tokens with a balance, or instances of non-fungible ones. */
type TokenCount = 'ft_tokens' | 'nfts';

/** Makes a function that counts an account's tokens. An account without transactions has no row, and isn't counted. */
export const tokenCounter =
  ({ accounts }: HotRows, counted: TokenCount) =>
  (principal: number, by: number): void => {
    const account = accounts.get({ principal_id: principal });
    if (account !== null) accounts.put({ ...account, [counted]: account[counted] + by });
  };

/**
 * Writes and reverts checkpoints. All other effects of the block must be applied before.
 * @param every number of transactions and rewards between two checkpoints of an account
 */
export function checkpointWriter(
  db: Database,
  { principals }: Dictionaries,
  { accounts: counts }: HotRows,
  every: number,
) {
  const states = accountStates(db);
  const addAccount = modelInserter(db, accountCheckpointsTable);
  const addToken = modelInserter(db, tokenCheckpointsTable);
  const { remove: removeAccount } = table(db, accountCheckpointsTable);
  const { remove: removeToken } = table(db, tokenCheckpointsTable);

  function add(principal: number, height: number): void {
    const state = states.sums(principal, height);
    for (const { token, assetId, sent, received } of states.changed(principal, height)) {
      addToken({ principalId: principal, token, assetId, height, sent: String(sent), received: String(received) });
    }
    addAccount({
      ...state,
      principalId: principal,
      height,
      sent: String(state.sent),
      received: String(state.received),
      fees: String(state.fees),
      mined: String(state.mined),
    });
  }

  function remove(principal: number, height: number): void {
    // Once this checkpoint is removed, `changed` counts from the previous one, as when this one was written.
    removeAccount({ principal_id: principal, height });
    for (const { token, assetId } of states.changed(principal, height)) {
      removeToken({ principal_id: principal, token, asset_id: assetId, height });
    }
  }

  return (effect: EffectOf<'checkpoint'>): void => {
    const { sign, height, items } = effect;
    const principal = principals.id(effect.principal);
    const account = counts.get({ principal_id: principal });
    const total = account === null ? 0 : account.transactions + account.rewards;
    if (Math.floor(total / every) === Math.floor((total - items) / every)) return;
    if (sign === 1) add(principal, height);
    else remove(principal, height);
  };
}
