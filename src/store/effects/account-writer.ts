/** Principals' balances and the totals of their lists. */
import type { Database } from 'bun:sqlite';
import type { Effect } from '../../chain/effect.ts';
import { decimalOf, isPositive, sortable } from '../rows/amounts.ts';
import type { Dictionaries } from './dictionary.ts';

interface Row {
  balance: string;
  stx_moves: number;
  transactions: number;
  rewards: number;
  stx_inbound: number;
  stx_outbound: number;
  sent: number;
  paid: number;
  calls: number;
}

/** Writes accounts through this connection. */
export function accountWriter(db: Database, { principals }: Dictionaries) {
  const find = db.prepare<Row, [number]>(
    `SELECT balance, stx_moves, transactions, rewards, stx_inbound, stx_outbound, sent, paid, calls
       FROM accounts WHERE principal_id = ?1`,
  );
  const set = db.prepare(
    `INSERT INTO accounts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, 0)
       ON CONFLICT (principal_id) DO UPDATE SET
         balance = ?3, stx_moves = ?4, transactions = ?5, rewards = ?6, stx_inbound = ?7, stx_outbound = ?8, sent = ?9,
         paid = ?10, calls = ?11`,
  );
  const remove = db.prepare('DELETE FROM accounts WHERE principal_id = ?1');
  const countAccounts = db.prepare<null, [number, number]>(
    'UPDATE totals SET stx_holders = stx_holders + ?1, stx_accounts = stx_accounts + ?2',
  );

  return {
    /** @returns how many transactions and rewards the account has then */
    move(effect: Extract<Effect, { kind: 'account' }>): number {
      const { sign, principal } = effect;
      const id = principals.id(principal);
      const known = find.get(id);
      const before = known?.balance ?? sortable('0');
      const after = sortable((BigInt(decimalOf(before)) + BigInt(sign) * effect.balance).toString());
      const movesBefore = known?.stx_moves ?? 0;
      const moves = movesBefore + sign * effect.stxMoves;
      const transactions = (known?.transactions ?? 0) + sign * effect.transactions;
      const rewards = (known?.rewards ?? 0) + sign * effect.rewards;
      const inbound = (known?.stx_inbound ?? 0) + sign * effect.stxInbound;
      const outbound = (known?.stx_outbound ?? 0) + sign * effect.stxOutbound;
      const sent = (known?.sent ?? 0) + sign * effect.sent;
      const paid = (known?.paid ?? 0) + sign * effect.paid;
      const calls = (known?.calls ?? 0) + sign * effect.calls;
      if (transactions === 0 && rewards === 0) remove.run(id);
      else set.run(id, principal, after, moves, transactions, rewards, inbound, outbound, sent, paid, calls);
      const holders = Number(isPositive(after)) - Number(isPositive(before));
      const accounts = Number(moves > 0) - Number(movesBefore > 0);
      if (holders !== 0 || accounts !== 0) countAccounts.run(holders, accounts);
      return transactions + rewards;
    },
  };
}
