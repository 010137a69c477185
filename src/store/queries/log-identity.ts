/** The identity of the log that an index is made from. */
import type { Database } from 'bun:sqlite';
import { prepared, type Stored } from '../rows/statement.ts';

export const sql = { identity: 'SELECT log_identity FROM progress' };

/** Returns a function that reads the identity in hex; null before the first entry. */
export function logIdentityQuery(db: Database): () => string | null {
  const find = prepared<Stored<'progress', 'log_identity'>, []>(db, sql.identity);
  return () => find.get()?.log_identity?.toHex() ?? null;
}
