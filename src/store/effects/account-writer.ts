/** Principals' balances and the totals of their lists. */
import type { Database } from 'bun:sqlite';
import type { Effect } from '../../chain/effect.ts';
import { decimalOf, isPositive, sortable } from '../rows/amounts.ts';
import type { Row } from '../rows/kept-rows.ts';
import type { accountsTable } from '../rows/tables.ts';
import type { BusyRows } from './busy-rows.ts';
import type { Dictionaries } from './dictionary.ts';

type Account = Row<typeof accountsTable>;

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

const movedBy = (account: Account, effect: Extract<Effect, { kind: 'account' }>): Account => {
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

/** What applies the effects on accounts through this connection. */
export function accountWriter(db: Database, { principals }: Dictionaries, { accounts }: BusyRows) {
  const countAccounts = db.prepare<null, [number, number]>(
    'UPDATE totals SET stx_holders = stx_holders + ?1, stx_accounts = stx_accounts + ?2',
  );

  return (effect: Extract<Effect, { kind: 'account' }>): void => {
    const { principal } = effect;
    const key = { principal_id: principals.id(principal) };
    const before = accounts.get(key) ?? emptyAccount(key.principal_id, principal);
    const after = movedBy(before, effect);
    if (after.transactions === 0 && after.rewards === 0) accounts.remove(key);
    else accounts.put(after);
    const holders = Number(isPositive(after.balance)) - Number(isPositive(before.balance));
    const movers = Number(after.stx_moves > 0) - Number(before.stx_moves > 0);
    if (holders !== 0 || movers !== 0) countAccounts.run(holders, movers);
  };
}

/** What an account has of tokens: kinds of fungible ones, or instances of non-fungible ones. */
type TokenCount = 'ft_tokens' | 'nfts';

/** What counts tokens of accounts. An account that has no row, since no transaction concerns it, has no count. */
export const tokenCounter =
  ({ accounts }: BusyRows, counted: TokenCount) =>
  (principal: number, by: number): void => {
    const account = accounts.get({ principal_id: principal });
    if (account !== null) accounts.put({ ...account, [counted]: account[counted] + by });
  };
