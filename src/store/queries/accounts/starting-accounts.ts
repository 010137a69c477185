/** What accounts had where the index begins, if that is a block: the node was asked about each that a block here touched. */
import type { Database } from 'bun:sqlite';
import { prepared, type Stored } from '../../rows/statement.ts';

export const sql = {
  account: `SELECT balance, locked, unlock_height, CAST(nonce AS TEXT) AS nonce FROM starting_accounts
             WHERE principal_id = ?1`,
  unasked: 'SELECT principal_id FROM unasked_accounts WHERE principal_id = ?1',
  next: `SELECT u.principal_id, p.address FROM unasked_accounts u JOIN principals p ON p.id = u.principal_id
          WHERE u.principal_id > ?1 ORDER BY u.principal_id LIMIT ?2`,
  count: 'SELECT count(*) AS waiting FROM unasked_accounts',
  begun: 'SELECT height FROM history_start WHERE height > 0',
  id: 'SELECT id FROM principals WHERE address = ?1',
};

/** An account after the block below the first one. Amounts are in micro-STX. */
export interface StartingAccount {
  /** With what is locked. */
  balance: bigint;
  locked: bigint;
  /** Bitcoin height at which the lock ends; 0 without one. */
  unlockHeight: number;
  /** The next one. */
  nonce: bigint;
}

/** The last nonce that an account used before the history starts; null if it used none. */
export const lastNonceOf = ({ nonce }: StartingAccount): bigint | null => (nonce === 0n ? null : nonce - 1n);

type Row = Stored<'starting_accounts', 'balance' | 'locked' | 'unlock_height'> & { nonce: string };

/** Makes a function that finds what an account had where the index begins; null if unknown, or where all is. */
export function startingAccountQuery(db: Database): (principal: number) => StartingAccount | null {
  const find = prepared<Row, [number]>(db, sql.account);
  return (principal) => {
    const row = find.get(principal);
    if (row === null) return null;
    const { balance, locked, unlock_height: unlockHeight, nonce } = row;
    return { balance: BigInt(balance), locked: BigInt(locked), unlockHeight, nonce: BigInt(nonce) };
  };
}

/**
 * Whether an account's STX and nonces are known: `known` in an index of the whole chain, and of each account that the node was
 * asked about; `asking` until it has answered, and `untouched` where no block of the index touched the account: nobody asks then.
 */
export type AccountKnowledge = 'known' | 'asking' | 'untouched';

export function startingAccountQueries(db: Database) {
  const id = prepared<Stored<'principals', 'id'>, [string]>(db, sql.id);
  const account = startingAccountQuery(db);
  const unasked = prepared<Stored<'unasked_accounts'>, [number]>(db, sql.unasked);
  const begun = prepared<Stored<'history_start', 'height'>, []>(db, sql.begun);
  const count = prepared<{ waiting: number }, []>(db, sql.count);
  const next = prepared<Stored<'unasked_accounts'> & Stored<'principals', 'address'>, [number, number]>(db, sql.next);

  return {
    /** Whether balance, lock and nonces of a principal are known. Without it, they are of this index's blocks alone. */
    knowledge(principal: string): AccountKnowledge {
      if (begun.get() === null) return 'known';
      const found = id.get(principal)?.id;
      if (found === undefined) return 'untouched';
      if (account(found) !== null) return 'known';
      return unasked.get(found) === null ? 'untouched' : 'asking';
    },

    /** Accounts to ask the node about, by number, and how many wait in all. @param after the number of the last one before */
    unasked(after: number, most: number): { accounts: { id: number; principal: string }[]; waiting: number } {
      const accounts = next
        .all(after, most)
        .map(({ principal_id, address }) => ({ id: principal_id, principal: address }));
      return { accounts, waiting: count.get()?.waiting ?? 0 };
    },
  };
}
