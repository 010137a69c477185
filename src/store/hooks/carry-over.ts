/**
 * Chainhooks outlive the index they stand in, and so do the send-many contracts that it was made with and what the
 * operator asked to find by decoded values: a rebuild makes a new index beside it that begins with nothing but them.
 */
import { type Database, SQLiteError } from 'bun:sqlite';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';
import { syncDirectory } from '../../base/whole-file.ts';
import { kindOf, named, openToRead } from '../files/connection.ts';
import { INDEX, indexPath, openWriter, tableWithoutRow } from '../files/database.ts';
import { removeLog, settle, settleWhole } from '../files/settled-log.ts';
import { type StoreFailure, unavailable } from '../files/store-failure.ts';
import { storedOrigin } from '../rows/hook-words.ts';

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

/** What else comes from commands: what the faucets gave, and names from before the chain. */
export const otherCommandTables = [
  'faucet_requests',
  'old_namespaces',
  'old_names',
  'old_zonefiles',
  'old_subdomains',
] as const;

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

/** Whether the chainhooks of the old index come from the journal's entries, from which they are made again. */
function comesFromEntries(db: Database): boolean {
  if (columnsOf(db, 'old', 'hook_origin').length === 0) return false;
  const row = db.query<{ origin: number }, []>('SELECT origin FROM old.hook_origin').get();
  return row?.origin === storedOrigin.numberOf('entries');
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
  if (cause instanceof LostProgressError) return true;
  if (!(cause instanceof SQLiteError)) return false;
  const failure = unavailable(cause)?.failure;
  return failure === 'io_error' ? READING.has(cause.code) : !ELSEWHERE.has(failure);
}

/** The old index lacks where its chainhooks stand. */
class LostProgressError extends Error {
  override readonly name = 'LostProgressError';
}

/** Whether an index is from before version 0.1.0: its chainhooks are no rows of today's tables. */
function isEarlier(path: string): boolean {
  using db = openToRead(path);
  return kindOf(db, INDEX) === 'earlier';
}

function copyCarried(db: Database, from: string): void {
  const withHooks = !isEarlier(from);
  db.run('ATTACH ?1 AS old', [from]);
  db.transaction(() => {
    const kept = withHooks ? (['hook_progress', 'hook_origin'] as const) : [];
    const lost = tableWithoutRow(db, kept, 'old');
    if (lost !== null) throw new LostProgressError(`${lost} has no row`);
    const ofHooks = !withHooks || comesFromEntries(db) ? [] : [...hookTables, 'hook_origin'];
    for (const table of [...carried, ...ofHooks]) copyTable(db, table);
    db.run(INDEXED_FROM_THE_START);
  })();
  db.run('DETACH old');
}

/**
 * Makes an index that holds what outlives the present one, in a directory of its own.
 * Called by whoever has the writer's lock until the new index is in the place of the present one: the file of the present
 * one holds all of it from now on, so that its log can go first.
 * @returns that directory
 * @throws OperatorError where the chainhooks can't be read, unless they may be lost
 * @throws PassingError where a reader keeps some of the present index in its log
 */
export function workshopWithHooks(directory: string, mayLoseHooks: boolean): string {
  clearWorkshop(directory);
  const [path, workshop] = [indexPath(directory), join(directory, WORKSHOP)];
  if (existsSync(path)) settleIfReadable(path);
  const db = openWriter(workshop, { load: 'bulk' });
  try {
    if (existsSync(path)) named(path, () => copyCarried(db, path));
  } catch (cause) {
    if (!isOfOldIndex(cause)) throw cause;
    if (!mayLoseHooks) {
      throw new OperatorError(
        `The chainhooks in ${path} can't be read.`,
        'Add --force to rebuild from the journal without them.',
        { cause },
      );
    }
  } finally {
    db.close();
  }
  return workshop;
}

/** The tables that commands make, which a journal without its commands doesn't. */
const tablesOfCommands = [...hookTables.filter((table) => table !== 'hook_progress'), ...otherCommandTables];

/**
 * Removes all that commands made from an index, which may be published then: the chainhooks with their secrets, who asked the
 * faucets, and the names from before the chain.
 */
export function forgetPrivateData(directory: string): void {
  const db = openWriter(directory);
  try {
    // The bytes of what is deleted are overwritten.
    db.run('PRAGMA secure_delete = ON');
    db.transaction(() => {
      for (const table of tablesOfCommands) db.run(`DELETE FROM ${table}`);
      db.run(`UPDATE hook_origin SET origin = ${storedOrigin.numberOf('host')}, epoch = 0`);
    })();
  } finally {
    db.close();
  }
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
