/**
 * Transactions of the canonical chain that a connection has read, kept by their position. What a block holds never
 * changes, so they stay what they are while the chain only grows; a fork makes the connection forget them all.
 *
 * Who asks for a transaction again gets the same object, so that what is made of it can be kept with it.
 */
import type { Database } from 'bun:sqlite';
import { type Recent, recent } from '../../base/recent.ts';
import { prepared } from '../rows/statement.ts';

export const sql = {
  newest: 'SELECT height, index_block_hash FROM blocks ORDER BY height DESC LIMIT 1',
  hashAt: 'SELECT index_block_hash FROM blocks WHERE height = ?1',
};

export interface KeptTransactions {
  /** Makes a place to keep them in. @param bytes of memory that it may take, about */
  place<T>(bytes: number): Recent<number, T>;
  /** Makes a function that looks something up once in each state of the file. */
  once<T>(look: () => T): () => T;
  /** Does the same for what is found by a key. @param most how many values are kept */
  onceEach<T>(most: number, look: (key: string) => T): (key: string) => T;
  /**
   * Forgets what is of another chain than that of the snapshot. To be called when one begins.
   * @throws SQLiteError
   */
  followChain(): void;
}

/** What connections use that don't say when a snapshot begins. */
export const nothingKept: KeptTransactions = {
  place: () => recent(0),
  once: (look) => look,
  onceEach: (_, look) => look,
  followChain: () => {},
};

interface TipRow {
  height: number;
  index_block_hash: Uint8Array;
}

export function keptTransactions(db: Database): KeptTransactions {
  const version = db.prepare<{ data_version: number }, []>('PRAGMA data_version');
  const newest = prepared<TipRow, []>(db, sql.newest);
  const hashAt = prepared<Pick<TipRow, 'index_block_hash'>, [number]>(db, sql.hashAt);
  /** What to forget with a fork, and with any change of the file. */
  const places: { clear(): void }[] = [];
  const looks: { clear(): void }[] = [];
  /** The file's version and the chain's tip in the snapshot before. */
  let seen: number | undefined;
  let tip: TipRow | null = null;

  function isCanonical({ height, index_block_hash: hash }: TipRow): boolean {
    const found = hashAt.get(height)?.index_block_hash;
    return found !== undefined && Buffer.compare(found, hash) === 0;
  }

  return {
    place<T>(bytes: number): Recent<number, T> {
      const place = recent<number, T>(bytes / 2);
      places.push(place);
      return place;
    },
    once<T>(look: () => T): () => T {
      let found: { value: T } | null = null;
      looks.push({ clear: () => (found = null) });
      return () => {
        found ??= { value: look() };
        return found.value;
      };
    },
    onceEach<T>(most: number, look: (key: string) => T): (key: string) => T {
      const known = recent<string, { value: T }>(most / 2);
      looks.push(known);
      return (key) => {
        const before = known.get(key);
        if (before !== undefined) return before.value;
        const value = look(key);
        known.set(key, { value }, 1);
        return value;
      };
    },
    followChain() {
      const now = version.get()?.data_version;
      if (now === seen) return;
      for (const look of looks) look.clear();
      if (tip === null || !isCanonical(tip)) for (const place of places) place.clear();
      tip = newest.get();
      seen = now;
    },
  };
}
