/** Opens the index file: connections, schema and upgrades. */
import type { Database } from 'bun:sqlite';
import { dirname, join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';
import { isPresent } from '../../base/files.ts';
import { dropViews, hasViews, makeViews } from '../views/views.ts';
import {
  AUTOCHECKPOINT_PAGES,
  type Connect,
  type Connection,
  DamagedFileError,
  type FileKind,
  kindOf,
  markFile,
  openToRead,
  openToWrite,
  requireKind,
  requireTables,
  setUp,
  sortingIn,
  unreleasedFile,
  versionOf,
} from './connection.ts';
import { makePrivateDirectory } from './private-files.ts';
import { leaveOutSecondaryIndexes, schema } from './secondary-indexes.ts';
import { requireFinished } from './unfinished.ts';

const REBUILD = 'Rebuild the index from its journal: stackside rebuild.';

/** Indexes. schema.sql creates their tables. */
export const INDEX: FileKind = { name: 'an index', id: 0x53_54_49_58 };

/** The version of schema.sql in the first release. */
const FIRST_VERSION = 6;

/** Upgrades from the first version on: SQL that changes the schema to the next version. Their result is schema.sql. */
const upgrades: readonly string[] = [];

/** Versions count the changes of schema.sql; PRAGMA user_version has a file's version. */
const versionAfter = (steps: readonly string[]): number => FIRST_VERSION + steps.length;
export const SCHEMA_VERSION = versionAfter(upgrades);

export const indexPath = (directory: string): string => join(directory, 'index.db');
export const journalPath = (directory: string): string => join(directory, 'journal.db');

/**
 * This program's treatment of an index file: creates tables in an empty one, uses it, upgrades it, or refuses one that an
 * unreleased or a newer program made.
 */
export type IndexFate = 'made' | 'used' | 'upgraded' | 'unreleased' | 'newer';

/** Returns what this program does with an index file. @throws OperatorError if the file is a database of another kind */
export function indexFate(db: Database, path: string, steps = upgrades): IndexFate {
  if (kindOf(db, INDEX) === 'empty') return 'made';
  requireKind(db, path, INDEX);
  const version = versionOf(db);
  if (version < FIRST_VERSION) return 'unreleased';
  const newest = versionAfter(steps);
  if (version > newest) return 'newer';
  return version === newest ? 'used' : 'upgraded';
}

/** The error for an index that a newer program wrote. @param newest the newest schema that this program supports */
const newerFile = (db: Database, path: string, newest: number): OperatorError =>
  new OperatorError(
    `A newer version of Stackside wrote ${path} (schema ${versionOf(db)}; this version supports ${newest}).`,
    'Run the newer version, or rebuild the index with this one: stackside rebuild.',
  );

/** Returns the error for an index with a version older than the first release. The journal also has the chainhooks. */
export const unreleasedIndex = (path: string): OperatorError =>
  unreleasedFile(path, 'Make a new index from the journal: stackside rebuild.');

/** Creates the tables of an empty file, or upgrades an older version, in one transaction. */
function bringUpToDate(
  db: Database,
  path: string,
  { load, addedSteps, views }: Required<Pick<WriterOptions, 'load' | 'addedSteps' | 'views'>>,
): void {
  const steps = [...upgrades, ...addedSteps];
  const fate = indexFate(db, path, steps);
  const version = versionOf(db);
  const newest = versionAfter(steps);
  if (fate === 'unreleased') throw unreleasedIndex(path);
  if (fate === 'newer') throw newerFile(db, path, newest);
  if (fate === 'used' && (!views || hasViews(db))) return;
  const change = db.transaction(() => {
    if (fate === 'made') {
      db.run(schema);
      if (load === 'bulk') leaveOutSecondaryIndexes(db);
    } else if (fate === 'upgraded') {
      dropViews(db);
      for (const sql of steps.slice(version - FIRST_VERSION)) db.run(sql);
    }
    markFile(db, INDEX, newest);
    if (views) makeViews(db);
  });
  // An upgrade may sort a long table for a new index; if the data's disk lacks space for that, its error is the right one.
  if (fate === 'upgraded') sortingIn(dirname(path), db, () => change.immediate());
  else change.immediate();
}

/**
 * Removes the statistics of ANALYZE. Every statement is written for the plan that SQLite makes without statistics; statistics
 * of a chain that was small once turn such plans into scans of tables that have become large.
 * @returns whether there was any
 */
function dropStatistics(db: Database): boolean {
  const tables = db
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'sqlite_stat[0-9]'")
    .all();
  for (const { name } of tables) db.run(`DROP TABLE ${name}`);
  return tables.length > 0;
}

/**
 * How a writer stores data: `events` one by one, or `bulk`: a long chain at once, while no reader is served. A file that `bulk`
 * creates lacks the secondary indexes, which are made at the end of the load (secondary-indexes.ts).
 */
export type Load = 'events' | 'bulk';

/**
 * Pages of the write-ahead log after which SQLite copies them into the file. Transactions change the pages of busy accounts
 * again and again, and a page is copied once however often it is in the log, so a long log means fewer writes.
 */
const LOG_PAGES: Readonly<Record<Load, number>> = { events: AUTOCHECKPOINT_PAGES, bulk: 65_536 };

interface WriterOptions {
  /** Opens the file. */
  connect?: Connect;
  load?: Load;
  /** Maximum bytes of the file; beyond it SQLite reports a full disk. */
  maxBytes?: number;
  /** Upgrades that tests add to the program's. */
  addedSteps?: readonly string[];
  /** False for a file without queries: it gets no views, and each connection to it opens in half the time. */
  views?: boolean;
}

const pageSizeOf = (db: Database): number =>
  db.query<{ page_size: number }, []>('PRAGMA page_size').get()?.page_size ?? 4096;

/** Opens the one connection that writes. Commits aren't synced, because lost commits are replayed from the journal. */
export function openWriter(directory: string, options: WriterOptions = {}): Connection {
  const { connect = openToWrite, load = 'events', addedSteps = [], maxBytes, views = true } = options;
  makePrivateDirectory(directory);
  const path = indexPath(directory);
  let hadStatistics = false;
  const open = () =>
    setUp(connect(path, 'NORMAL'), (db) => {
      db.run('PRAGMA cache_size = -32768');
      db.run(`PRAGMA wal_autocheckpoint = ${LOG_PAGES[load]}`);
      if (maxBytes !== undefined) db.run(`PRAGMA max_page_count = ${Math.floor(maxBytes / pageSizeOf(db))}`);
      bringUpToDate(db, path, { load, addedSteps, views });
      requireIndexTables(db, path);
      hadStatistics = dropStatistics(db);
    });
  const db = open();
  if (!hadStatistics) return db;
  // The connection has read the statistics, and would still plan with them.
  db.close();
  return open();
}

/** Tables with exactly one row, which is created with the table. */
export const oneRowTables = ['progress'] as const;

/** @throws DamagedFileError if the index lacks a table, or a table lacks its one row */
export function requireIndexTables(db: Database, path: string): void {
  requireTables(db, path, schema, REBUILD);
  const empty = oneRowTables.find((name) => db.query(`SELECT 1 FROM ${name}`).get() === null);
  if (empty !== undefined) throw new DamagedFileError(path, `its table ${empty} is empty`, REBUILD);
}

/** @throws OperatorError if a directory has no index or can't be read, or a restore or a fill into it is not finished */
export function requireIndex(directory: string): void {
  requireFinished(directory);
  const path = indexPath(directory);
  if (isPresent(path)) return;
  if (isPresent(journalPath(directory))) {
    throw new OperatorError(`The index ${path} is missing, but ${directory} contains a journal.`, REBUILD);
  }
  throw new OperatorError(
    `No index found at ${path}.`,
    'Check --data. stackside serve and stackside import create an index.',
  );
}

/**
 * Opens a connection that only reads; any number may be open, also in other processes.
 * @throws OperatorError if there is no index, or one of another version, DamagedFileError if it lacks a table
 */
export function openReader(directory: string): Connection {
  requireIndex(directory);
  const path = indexPath(directory);
  return setUp(openToRead(path), (db) => {
    db.run('PRAGMA cache_size = -16384');
    // Without a memory map, a page that the disk can't read is an error and doesn't end the process.
    db.run('PRAGMA mmap_size = 0');
    const fate = indexFate(db, path);
    if (fate === 'unreleased') throw unreleasedIndex(path);
    if (fate === 'newer') throw newerFile(db, path, SCHEMA_VERSION);
    if (fate !== 'used') {
      throw new OperatorError(
        `${path} has schema ${versionOf(db)}; this program reads ${SCHEMA_VERSION}.`,
        'Run the same version as the process that writes the index, and start that process first.',
      );
    }
    requireIndexTables(db, path);
  });
}
