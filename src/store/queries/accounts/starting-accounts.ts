/** Reads the state of accounts before the index's first block, for an index that starts at a block. The node sent it. */
import type { Database } from 'bun:sqlite';
import { query, type Stored, statements } from '../../rows/statement.ts';
import { historyStartQuery } from '../blocks/chain.ts';
import { numbers } from '../numbers.ts';

export const sql = {
  account: query<Row, [number]>`
    SELECT balance, locked, unlock_height, CAST(nonce AS TEXT) AS nonce FROM starting_accounts
     WHERE principal_id = ?1 AND balance IS NOT NULL`,
  waits: query<{ waits: 0 | 1 }, [number]>`
    SELECT balance IS NULL AS waits FROM starting_accounts WHERE principal_id = ?1`,
  next: query<Stored<'starting_accounts', 'principal_id'> & Stored<'principals', 'address'>, [number, number]>`
    SELECT u.principal_id, p.address FROM starting_accounts u JOIN principals p ON p.id = u.principal_id
     WHERE u.balance IS NULL AND u.principal_id > ?1 ORDER BY u.principal_id LIMIT ?2`,
  count: query<{ waiting: number }>`SELECT count(*) AS waiting FROM starting_accounts WHERE balance IS NULL`,
};

/** An account after the block below the first one. Amounts are in micro-STX. */
export interface StartingAccount {
  /** Includes locked STX. */
  balance: bigint;
  locked: bigint;
  /** Bitcoin height at which the lock ends; 0 without one. */
  unlockHeight: number;
  /** Next nonce. */
  nonce: bigint;
}

/** The last nonce that an account used before the history starts; null if it used none. */
export const lastNonceOf = ({ nonce }: StartingAccount): bigint | null => (nonce === 0n ? null : nonce - 1n);

/** Stands for the last nonce of an account that used none. */
export const NO_NONCE = '-1';

/**
 * SQL for the last nonce that the principal ?1 spent as origin or as sponsor; {@link NO_NONCE} if it spent none.
 * @param sent table and condition of the transactions in which it may be the origin
 * @param sponsored table and condition of the transactions in which it may be the sponsor
 */
export const lastNonceIn = (sent: string, sponsored: string): string =>
  `max(coalesce((SELECT max(nonce) FROM ${sent} AND sender_id = ?1), ${NO_NONCE}),
       coalesce((SELECT max(sponsor_nonce) FROM ${sponsored} AND sponsor_id = ?1), ${NO_NONCE}))`;

interface Row {
  balance: string;
  locked: string;
  unlock_height: number;
  nonce: string;
}

/** Makes a function that reads an account's state before the index's first block; null if there is no row. */
export function startingAccountQuery(db: Database): (principal: number) => StartingAccount | null {
  const find = sql.account.prepared(db);
  return (principal) => {
    const row = find.get(principal);
    if (row === null) return null;
    const { balance, locked, unlock_height: unlockHeight, nonce } = row;
    return { balance: BigInt(balance), locked: BigInt(locked), unlockHeight, nonce: BigInt(nonce) };
  };
}

/**
 * Whether an account's STX and nonces are complete: `known` in an index of the whole chain, and after the node sent the
 * account's state; `asking` while the request is pending; `untouched` if no indexed block touched the account.
 */
export type AccountStatus = 'known' | 'asking' | 'untouched';

export function startingAccountQueries(db: Database) {
  const { waits, count, next } = statements(db, sql);
  const { principalOf } = numbers(db);
  const historyStart = historyStartQuery(db);

  return {
    /** Returns whether a principal's balance, lock and nonces are complete. If not, they only count this index's blocks. */
    knowledge(principal: string): AccountStatus {
      if (historyStart() === null) return 'known';
      const state = waits.get(principalOf(principal));
      if (state === null) return 'untouched';
      return state.waits === 1 ? 'asking' : 'known';
    },

    /** Accounts without their starting state, by number, and the total. @param after lists the accounts above this number */
    listPending(after: number, limit: number): { accounts: { id: number; principal: string }[]; waiting: number } {
      const accounts = next
        .all(after, limit)
        .map(({ principal_id, address }) => ({ id: principal_id, principal: address }));
      return { accounts, waiting: count.get()?.waiting ?? 0 };
    },
  };
}
