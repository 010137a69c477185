/** The identity of the log that an index is made from. */
import type { Database } from 'bun:sqlite';
import { query, type Stored } from '../rows/statement.ts';

export const sql = { identity: query<Stored<'progress', 'log_identity'>>`SELECT log_identity FROM progress` };

/** Returns a function that reads the identity in hex; null before the first entry. */
export function logIdentityQuery(db: Database): () => string | null {
  const find = sql.identity.prepared(db);
  return () => find.get()?.log_identity?.toHex() ?? null;
}
