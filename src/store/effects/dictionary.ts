/** Numbers of texts that occur in many rows: principals and asset identifiers. */
import type { Database } from 'bun:sqlite';
import { NOBODY } from '../queries/numbers.ts';
import { query } from '../rows/statement.ts';

/** Maximum of cached texts. The full cache is cleared, because a plain map takes a fifth of the time of an LRU cache. */
const CACHED = 100_000;

function dictionary(db: Database, table: 'principals' | 'assets', column: 'address' | 'identifier') {
  const find = query<{ id: number }, [string]>`SELECT id FROM ${table} WHERE ${column} = ?1`.prepared(db);
  const insert = query<null, [string]>`INSERT INTO ${table} (${column}) VALUES (?1)`.prepared(db);
  const cache = new Map<string, number>();
  return {
    /** The number of a text, which is added if it is new. */
    id(text: string): number {
      const cached = cache.get(text);
      if (cached !== undefined) return cached;
      const id = find.get(text)?.id ?? Number(insert.run(text).lastInsertRowid);
      if (cache.size >= CACHED) cache.clear();
      cache.set(text, id);
      return id;
    },
    /** The number of a text; {@link NOBODY} if it has none. */
    find: (text: string): number => cache.get(text) ?? find.get(text)?.id ?? NOBODY,
    /** Clears the cache, which may have texts of a transaction that is rolled back. */
    forget: () => cache.clear(),
  };
}

/** The numbers of principals and assets, read and added through this connection. */
export const dictionaries = (db: Database) => ({
  principals: dictionary(db, 'principals', 'address'),
  assets: dictionary(db, 'assets', 'identifier'),
});
export type Dictionaries = ReturnType<typeof dictionaries>;
