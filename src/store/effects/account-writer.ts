/** Principals' balances and the totals of their lists. */
import type { Database } from 'bun:sqlite';
import type { Effect } from '../../chain/effect.ts';
import { decimalOf, isPositive, sortable } from '../rows/amounts.ts';
import { upserter } from '../rows/table.ts';
import type { Stored } from '../rows/table-shape.ts';
import { accountsTable } from '../tables/accounts.ts';
import type { Dictionaries } from './dictionary.ts';

/** What effects on accounts move. */
const moved = [
  'balance',
  'stx_moves',
  'transactions',
  'rewards',
  'stx_inbound',
  'stx_outbound',
  'sent',
  'paid',
  'calls',
] as const;
type Row = Stored<typeof accountsTable, (typeof moved)[number]>;

/** What applies the effects on accounts through this connection. */
export function accountWriter(db: Database, { principals }: Dictionaries) {
  const find = db.prepare<Row, [number]>(`SELECT ${moved.join(', ')} FROM accounts WHERE principal_id = ?1`);
  const set = upserter(db, accountsTable, { replaced: moved });
  const remove = db.prepare('DELETE FROM accounts WHERE principal_id = ?1');
  const countAccounts = db.prepare<null, [number, number]>(
    'UPDATE totals SET stx_holders = stx_holders + ?1, stx_accounts = stx_accounts + ?2',
  );

  /** @returns how many transactions and rewards the account has then */
  return (effect: Extract<Effect, { kind: 'account' }>): number => {
    const { sign, principal } = effect;
    const id = principals.id(principal);
    const known = find.get(id);
    const before = known?.balance ?? sortable('0');
    const row = {
      balance: sortable((BigInt(decimalOf(before)) + BigInt(sign) * effect.balance).toString()),
      stx_moves: (known?.stx_moves ?? 0) + sign * effect.stxMoves,
      transactions: (known?.transactions ?? 0) + sign * effect.transactions,
      rewards: (known?.rewards ?? 0) + sign * effect.rewards,
      stx_inbound: (known?.stx_inbound ?? 0) + sign * effect.stxInbound,
      stx_outbound: (known?.stx_outbound ?? 0) + sign * effect.stxOutbound,
      sent: (known?.sent ?? 0) + sign * effect.sent,
      paid: (known?.paid ?? 0) + sign * effect.paid,
      calls: (known?.calls ?? 0) + sign * effect.calls,
    };
    if (row.transactions === 0 && row.rewards === 0) remove.run(id);
    else set({ principal_id: id, address: principal, ...row, ft_tokens: 0, nfts: 0 });
    const holders = Number(isPositive(row.balance)) - Number(isPositive(before));
    const accounts = Number(row.stx_moves > 0) - Number((known?.stx_moves ?? 0) > 0);
    if (holders !== 0 || accounts !== 0) countAccounts.run(holders, accounts);
    return row.transactions + row.rewards;
  };
}
