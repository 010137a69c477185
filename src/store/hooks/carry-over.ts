/** Chainhooks outlive the index they stand in: a rebuild begins with an index that has nothing but them. */
import type { Database } from 'bun:sqlite';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../errors.ts';
import { openToWrite } from '../connection.ts';
import { indexPath, openWriter } from '../database.ts';

/** Where the new index is made, inside the data directory. */
const WORKSHOP = 'rebuild';

/** The tables that a rebuild can't make again. */
export const hookTables = [
  'hooks',
  'hook_progress',
  'hook_secrets',
  'hook_deliveries',
  'hook_bodies',
  'hook_attempts',
  'hook_ledger',
  'hook_backfills',
] as const;

const columnsOf = (db: Database, schema: 'main' | 'old', table: string): string[] =>
  db
    .query<{ name: string }, [string, string]>('SELECT name FROM pragma_table_info(?1, ?2)')
    .all(table, schema)
    .map(({ name }) => name);

/** The columns that both have: an older or newer index may lack some. */
function copyTable(db: Database, table: string): void {
  const old = new Set(columnsOf(db, 'old', table));
  if (old.size === 0) return;
  const common = columnsOf(db, 'main', table).filter((name) => old.has(name));
  db.run(`DELETE FROM main.${table}`);
  db.run(`INSERT INTO main.${table} (${common.join(', ')}) SELECT ${common.join(', ')} FROM old.${table}`);
}

/** Puts what the write-ahead log holds into the file, and closes it: the log must not meet the new index. */
function settle(path: string): void {
  const db = openToWrite(path, 'FULL');
  try {
    db.run('PRAGMA wal_checkpoint(TRUNCATE)');
  } finally {
    db.close();
  }
}

const removeFiles = (path: string): void => {
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
};

/**
 * Replaces the index by an empty one with the chainhooks of the old. Whatever the moment of a crash, one of the two is
 * there, whole.
 * @throws OperatorError where the chainhooks can't be read, unless they may be lost
 */
export function freshIndexWithHooks(directory: string, mayLoseHooks: boolean): void {
  const path = indexPath(directory);
  if (!existsSync(path)) return;
  const workshop = join(directory, WORKSHOP);
  rmSync(workshop, { recursive: true, force: true });
  try {
    settle(path);
    const db = openWriter(workshop, 'own');
    try {
      db.run('ATTACH ?1 AS old', [path]);
      db.transaction(() => {
        for (const table of hookTables) copyTable(db, table);
      })();
      db.run('DETACH old');
      db.run('PRAGMA wal_checkpoint(TRUNCATE)');
    } finally {
      db.close();
    }
  } catch (cause) {
    rmSync(workshop, { recursive: true, force: true });
    if (!mayLoseHooks) {
      throw new OperatorError(
        `The chainhooks in ${path} can't be read.`,
        'To rebuild from the journal all the same, without them: --force.',
        { cause },
      );
    }
    removeFiles(path);
    return;
  }
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
  renameSync(indexPath(workshop), path);
  rmSync(workshop, { recursive: true, force: true });
}
