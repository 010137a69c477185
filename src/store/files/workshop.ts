/**
 * A new index is made beside the present one, and takes its place once it is whole. It begins with what no entry of the log
 * says: the send-many contracts that the present one was made with, and what the operator asked to find by decoded values.
 */
import { type Database, SQLiteError } from 'bun:sqlite';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';
import { syncDirectory } from '../../base/whole-file.ts';
import { named } from './connection.ts';
import { indexPath, openWriter } from './database.ts';
import { removeLog, settle, settleWhole } from './settled-log.ts';
import { type StoreFailure, unavailable } from './store-failure.ts';

/** Where the new index is made, inside the data directory. */
const WORKSHOP = 'rebuild';

/** The tables that every new index begins with. */
const carried = ['send_many_contracts', 'value_indexes'];

/** An index of decoded values has the entries of all blocks where it is there before the first. */
const INDEXED_FROM_THE_START = `DELETE FROM value_indexes WHERE wanted = 0;
  UPDATE value_indexes SET from_position = 0, from_event = 0`;

const columnsOf = (db: Database, schema: 'main' | 'old', table: string): string[] =>
  db
    .query<{ name: string }, [string, string]>('SELECT name FROM pragma_table_info(?1, ?2)')
    .all(table, schema)
    .map(({ name }) => name);

/** The columns that both have: an index from before version 0.1.0, or a newer one, may lack some. */
function copyTable(db: Database, table: string): void {
  const old = new Set(columnsOf(db, 'old', table));
  if (old.size === 0) return;
  const common = columnsOf(db, 'main', table).filter((name) => old.has(name));
  db.run(`DELETE FROM main.${table}`);
  db.run(`INSERT INTO main.${table} (${common.join(', ')}) SELECT ${common.join(', ')} FROM old.${table}`);
}

/** Settles the log of an index, which is replaced all the same where it is damaged. @throws PassingError */
function settleIfReadable(path: string): void {
  try {
    settleWhole(path);
  } catch (error) {
    if (!(error instanceof SQLiteError)) throw error;
  }
}

/** What says nothing of the old index: the new one can't be written, or another process is at work. */
const ELSEWHERE: ReadonlySet<StoreFailure | undefined> = new Set(['busy', 'full', 'out_of_memory', 'read_only']);
/** I/O errors of reading, which is done of the old index alone. */
const READING: ReadonlySet<string | undefined> = new Set(['SQLITE_IOERR_READ', 'SQLITE_IOERR_SHORT_READ']);

function isOfOldIndex(cause: unknown): boolean {
  if (!(cause instanceof SQLiteError)) return false;
  const failure = unavailable(cause)?.failure;
  return failure === 'io_error' ? READING.has(cause.code) : !ELSEWHERE.has(failure);
}

function copyCarried(db: Database, from: string): void {
  db.run('ATTACH ?1 AS old', [from]);
  db.transaction(() => {
    for (const table of carried) copyTable(db, table);
    db.run(INDEXED_FROM_THE_START);
  })();
  db.run('DETACH old');
}

/**
 * Makes an index that holds what outlives the present one, in a directory of its own.
 * Called by whoever has the writer's lock until the new index is in the place of the present one: the file of the present
 * one holds all of it from now on, so that its log can go first.
 * @returns that directory
 * @throws OperatorError where the present index can't be read, unless what it says may be lost
 * @throws PassingError where a reader keeps some of the present index in its log
 */
export function openWorkshop(directory: string, mayLoseSettings: boolean): string {
  clearWorkshop(directory);
  const [path, workshop] = [indexPath(directory), join(directory, WORKSHOP)];
  if (existsSync(path)) settleIfReadable(path);
  const db = openWriter(workshop, { load: 'bulk' });
  try {
    if (existsSync(path)) named(path, () => copyCarried(db, path));
  } catch (cause) {
    if (!isOfOldIndex(cause)) throw cause;
    if (!mayLoseSettings) {
      throw new OperatorError(
        `The settings that ${path} was made with can't be read: its send-many contracts and its indexes of decoded values.`,
        'Add --force to rebuild from the journal without them.',
        { cause },
      );
    }
  } finally {
    db.close();
  }
  return workshop;
}

/** Removes what a rebuild made that was stopped, or failed. */
export function clearWorkshop(directory: string): void {
  rmSync(join(directory, WORKSHOP), { recursive: true, force: true });
}

/** Puts the index of the workshop in the place of the present one. Whatever the moment of a crash, one of the two is whole. */
export function takeWorkshopsIndex(directory: string): void {
  const [path, workshop] = [indexPath(directory), join(directory, WORKSHOP)];
  settle(indexPath(workshop));
  removeLog(path);
  renameSync(indexPath(workshop), path);
  syncDirectory(directory);
  clearWorkshop(directory);
}
