/**
 * How far each recording was imported. It stands in the file that is committed first, with the events themselves: after a
 * crash between the two commits the rows that are in the journal must not be taken from the recording once more.
 */
import type { Database } from 'bun:sqlite';

export const IMPORTS_TABLE = `
  CREATE TABLE imports (
    source TEXT PRIMARY KEY, -- hash of how the recording begins
    rows   INTEGER NOT NULL
  ) STRICT;`;

export type ImportProgress = ReturnType<typeof importProgress>;

export function importProgress(db: Database) {
  const find = db.prepare<{ rows: number }, [string]>('SELECT rows FROM imports WHERE source = ?1');
  const set = db.prepare<null, [string, number]>(
    'INSERT INTO imports VALUES (?1, ?2) ON CONFLICT (source) DO UPDATE SET rows = ?2',
  );
  return {
    /** Rows of the recording that were taken. */
    rows: (source: string): number => find.get(source)?.rows ?? 0,
    setRows: (source: string, rows: number) => {
      set.run(source, rows);
    },
  };
}
