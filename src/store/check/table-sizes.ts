/** How large each table and index of the index is. */

import { onFile } from '../../base/system-errors.ts';
import { indexPath, openReader } from '../files/database.ts';

export interface TableSize {
  name: string;
  kind: 'table' | 'index';
  /** The table itself, or that of the index. */
  table: string;
  bytes: number;
}

/**
 * Measures the tables and indexes of a data directory one by one; the writer may go on meanwhile. Counting the pages of
 * one reads all of them.
 * @param at called before each with its number and name
 * @throws OperatorError where there is no index, or it can't be read
 */
export function* tableSizes(
  directory: string,
  at: (step: { number: number; of: number; name: string }) => void,
): Generator<TableSize> {
  using db = openReader(directory);
  const all = db
    .query<Omit<TableSize, 'bytes'>, []>(
      'SELECT name, type AS kind, tbl_name AS "table" FROM sqlite_schema WHERE rootpage > 0 ORDER BY rowid',
    )
    .all();
  const size = db.query<{ bytes: number }, [string]>(
    'SELECT pgsize AS bytes FROM dbstat WHERE name = ?1 AND aggregate = TRUE',
  );
  for (const [index, one] of all.entries()) {
    at({ number: index + 1, of: all.length, name: one.name });
    const bytes = onFile(indexPath(directory), () => size.get(one.name)?.bytes ?? 0);
    yield { ...one, bytes };
  }
}
