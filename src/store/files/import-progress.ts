/**
 * How far each source of events was read: a recording that is imported, or a stream of messages. It stands in the file that
 * is committed first, with the events themselves: after a crash between the two commits the rows that are in the journal
 * must not be taken from the source once more.
 */
import type { Database } from 'bun:sqlite';

export const IMPORTS_TABLE = `
  CREATE TABLE imports (
    source TEXT PRIMARY KEY, -- hash of how the recording begins
    rows   INTEGER NOT NULL,
    digest TEXT NOT NULL     -- of those rows, each hashed onto those before it
  ) STRICT;`;

/** How many rows of a recording were taken, and their hash; or the number of a stream's last message, and its id. */
export interface Imported {
  rows: number;
  digest: string;
}

export function importProgress(db: Database) {
  const find = db.prepare<Imported, [string]>('SELECT rows, digest FROM imports WHERE source = ?1');
  const set = db.prepare<null, [string, number, string]>(
    'INSERT INTO imports VALUES (?1, ?2, ?3) ON CONFLICT (source) DO UPDATE SET rows = ?2, digest = ?3',
  );
  return {
    get: (source: string): Imported => find.get(source) ?? { rows: 0, digest: '' },
    set: (source: string, { rows, digest }: Imported) => {
      set.run(source, rows, digest);
    },
  };
}
