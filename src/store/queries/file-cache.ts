/** Values that a connection caches from one snapshot to the next, until the file changes. */
import type { Database } from 'bun:sqlite';
import { lazy, memoize } from '../../base/cache.ts';

export interface FileCache {
  /** A lazy value that is computed again when the file changes. */
  lazy<T>(look: () => T): () => T;
  /** A memo that is cleared when the file changes. @param capacity as in {@link memoize} */
  memoize<T, Key extends string | number = string>(look: (key: Key) => T, capacity: number): (key: Key) => T;
  /**
   * Clears the cache if the file has changed. Call it at the beginning of each snapshot.
   * @throws SQLiteError
   */
  refresh(): void;
}

/** Returns a function that reads a number that changes when another connection changes the file. */
function fileVersion(db: Database): () => number | undefined {
  const version = db.prepare<{ data_version: number }, []>('PRAGMA data_version');
  return () => version.get()?.data_version;
}

/** @param version a number that changes when the content changes that the connection shows */
export function fileCache(db: Database, version = fileVersion(db)): FileCache {
  const caches: { clear(): void }[] = [];
  /** The file's version in the last snapshot. */
  let lastVersion: number | undefined;

  return {
    lazy<T>(look: () => T): () => T {
      const value = lazy(look);
      caches.push(value);
      return value;
    },
    memoize<T, Key extends string | number = string>(look: (key: Key) => T, capacity: number): (key: Key) => T {
      const memo = memoize(look, capacity);
      caches.push(memo);
      return memo;
    },
    refresh() {
      const current = version();
      if (current === lastVersion) return;
      for (const cache of caches) cache.clear();
      lastVersion = current;
    },
  };
}
