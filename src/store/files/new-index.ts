/**
 * A new index is made in a staging directory beside the present one. Once it is whole it is offered, by one rename, and whoever has the
 * writer's lock puts it in the place of the present one. The staging directory begins with what no entry of the log says: the
 * send-many contracts that the present index was made with, and what the operator asked to find by decoded values.
 */
import { type Database, SQLiteError } from 'bun:sqlite';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';
import { syncDirectory } from '../../base/files.ts';
import {
  checkpoint,
  kindOf,
  named,
  openToCheckpoint,
  openToRead,
  openWithoutTrace,
  removeLog,
  requireKind,
  versionOf,
} from './connection.ts';
import { INDEX, indexPath, journalPath, openWriter, SCHEMA_VERSION } from './database.ts';
import { openJournalReader } from './journal.ts';
import { fitOf, positionIn } from './journal-link.ts';
import { LockHeldError, lockRebuild } from './lock.ts';
import { type StoreFailure, unavailable } from './store-failure.ts';

/** Where the new index is made, inside the data directory. */
const WORKSHOP = 'rebuild';

/** A new index that is whole, and waits for the place of the present one. */
export const newIndexPath = (directory: string): string => join(directory, 'index.new.db');

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

/** @throws OperatorError where a file is a database of another program */
function requireNoForeign(path: string): void {
  using db = openToRead(path);
  if (kindOf(db, INDEX) === 'other') requireKind(db, path, INDEX);
}

/**
 * Makes an index that holds what outlives the present one, in a directory of its own. Called by whoever has the rebuild's
 * lock; another process may write to the present index meanwhile.
 * @returns that directory
 * @throws OperatorError where the present index can't be read, or is none, unless what it says may be lost
 */
export function openStaging(directory: string, mayLoseSettings: boolean): string {
  clearStaging(directory);
  const [path, staging] = [indexPath(directory), join(directory, WORKSHOP)];
  const db = openWriter(staging, { load: 'bulk' });
  try {
    if (existsSync(path)) {
      if (!mayLoseSettings) requireNoForeign(path);
      named(path, () => copyCarried(db, path));
    }
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
  return staging;
}

/** Removes what a rebuild made that was stopped, or failed. Called by whoever has the rebuild's lock. */
export function clearStaging(directory: string): void {
  rmSync(join(directory, WORKSHOP), { recursive: true, force: true });
}

/** Removes what a rebuild left that was killed; nothing of one that goes on. */
export function clearDeserted(directory: string): void {
  if (!existsSync(join(directory, WORKSHOP))) return;
  try {
    using lock = new DisposableStack();
    lock.defer(lockRebuild(directory));
    clearStaging(directory);
  } catch (error) {
    if (!(error instanceof LockHeldError)) throw error;
  }
}

/** Offers the index of the staging directory, which is whole and closed. The staging directory stays, for its maker to clear. */
export function offerIndex(directory: string): void {
  const made = indexPath(join(directory, WORKSHOP));
  checkpoint(made);
  renameSync(made, newIndexPath(directory));
  syncDirectory(directory);
}

/**
 * What is offered: nothing, an index of this program's schema, one that a newer program made and takes, or one that nobody
 * can use.
 */
type Offer = 'none' | 'usable' | 'newer' | 'unfit';

function offerIn(directory: string): Offer {
  const path = newIndexPath(directory);
  if (!existsSync(path)) return 'none';
  try {
    using db = openWithoutTrace(path);
    if (kindOf(db, INDEX) !== 'own') return 'unfit';
    const version = versionOf(db);
    if (version === SCHEMA_VERSION) return 'usable';
    return version > SCHEMA_VERSION ? 'newer' : 'unfit';
  } catch (error) {
    if (unavailable(error)?.failure === 'damaged') return 'unfit';
    throw error;
  }
}

/** Whether a start would put a new index in the place of the present one; not where the disk can't say so now. */
export function isOffered(directory: string): boolean {
  try {
    return offerIn(directory) === 'usable';
  } catch (error) {
    if (unavailable(error) === null) throw error;
    return false;
  }
}

/** Whether a new index is of the journal that is beside it. @throws OperatorError where the journal can't be read */
function isOfJournal(directory: string): boolean {
  if (!existsSync(journalPath(directory))) return false;
  using db = openWithoutTrace(newIndexPath(directory));
  const journal = openJournalReader(directory);
  try {
    return fitOf(positionIn(db), journal) === 'fits';
  } finally {
    journal.close();
  }
}

/**
 * Checkpoints the present index as far as its readers let it, so that a process that opens it at this moment reads a whole
 * one, if not the newest.
 */
function checkpointIfReadable(path: string): void {
  try {
    using db = openToCheckpoint(path);
    db.run('PRAGMA wal_checkpoint(PASSIVE)');
  } catch (error) {
    // It may be damaged, and is about to go.
    if (!(error instanceof SQLiteError)) throw error;
  }
}

/**
 * Puts an index that is offered in the place of the present one, and removes one that nobody can use. Called by whoever has the
 * writer's lock. Whatever the moment of a crash, the offered index is whole, and is taken the next time.
 * @throws OperatorError where the journal can't be read
 */
export function installOffer(directory: string): Offer {
  const [path, offered] = [indexPath(directory), newIndexPath(directory)];
  let offer = offerIn(directory);
  if (offer === 'usable' && !isOfJournal(directory)) offer = 'unfit';
  if (offer === 'unfit') rmSync(offered);
  if (offer === 'usable') {
    if (existsSync(path)) checkpointIfReadable(path);
    removeLog(path);
    renameSync(offered, path);
    syncDirectory(directory);
  }
  return offer;
}
