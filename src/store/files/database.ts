/** Opening the index file: connections, schema and upgrades. */
import type { Database } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';
import { dropViews, hasViews, makeViews } from '../views/views.ts';
import {
  type Connect,
  type Connection,
  EarlierFileError,
  type FileKind,
  kindOf,
  markFile,
  openToRead,
  openToWrite,
  prepared,
  requireKind,
  sortingIn,
  versionOf,
} from './connection.ts';
import { makePrivateDirectory } from './private-files.ts';
import { requireRestored } from './restore-marker.ts';
import { leaveOutSecondaryIndexes, schema } from './secondary-indexes.ts';

/** Indexes, whose tables schema.sql makes. */
export const INDEX: FileKind = { name: 'an index', id: 0x53_54_49_58, earlier: ['progress', 'journal_id'] };

/** What turns an index of one version of schema.sql into one of the next. */
export interface Upgrade {
  sql: string;
  /** Whether only a rebuild fills what it adds: it is made beside the server then. */
  needsRebuild: boolean;
}

/** From version 1 on, in order. A file may lack secondary indexes. schema.sql is what they result in. */
const upgrades: readonly Upgrade[] = [];

/** Counts changes of schema.sql; stored in the file as PRAGMA user_version. */
const versionAfter = (steps: readonly Upgrade[]): number => 1 + steps.length;
export const SCHEMA_VERSION = versionAfter(upgrades);

export const indexPath = (directory: string): string => join(directory, 'index.db');
export const journalPath = (directory: string): string => join(directory, 'journal.db');

/**
 * What this program does with an index: it makes an empty file one, uses it, upgrades it, has it rebuilt, or leaves it to the
 * newer program that wrote it.
 */
export type IndexFate = 'made' | 'used' | 'upgraded' | 'rebuilt' | 'refused';

/** @throws OperatorError where the file is a database of another kind */
export function indexFate(db: Database, path: string, steps = upgrades): IndexFate {
  const kind = kindOf(db, INDEX);
  if (kind === 'earlier') return 'rebuilt';
  if (kind === 'empty') return 'made';
  requireKind(db, path, INDEX);
  const version = versionOf(db);
  const known = versionAfter(steps);
  if (version > known || version < 1) return 'refused';
  return version === known ? 'used' : 'upgraded';
}

/** Makes the tables of an empty file, and upgrades an older version: in one transaction. */
function bringUpToDate(db: Database, path: string, load: Load, steps: readonly Upgrade[]): void {
  const fate = indexFate(db, path, steps);
  const version = versionOf(db);
  const known = versionAfter(steps);
  if (fate === 'rebuilt') throw new EarlierFileError(path);
  if (fate === 'refused') {
    throw new OperatorError(
      `${path} was written by a newer Stackside (schema ${version}; this program knows ${known}).`,
      'Run the newer program, or rebuild the index from the journal with this one: stackside rebuild.',
    );
  }
  if (fate === 'used' && hasViews(db)) return;
  const change = db.transaction(() => {
    if (fate === 'made') {
      db.run(schema);
      if (load === 'bulk') leaveOutSecondaryIndexes(db);
    } else if (fate === 'upgraded') {
      dropViews(db);
      for (const [at, { sql, needsRebuild }] of steps.entries()) {
        if (at < version - 1) continue;
        db.run(sql);
        if (needsRebuild) db.run('INSERT INTO unfilled_upgrades VALUES (?1)', [versionAfter(steps.slice(0, at + 1))]);
      }
    }
    markFile(db, INDEX, known);
    makeViews(db);
  });
  // A new index of a long table is sorted; where the disk of the data has no room for that, its error is right.
  if (fate === 'upgraded') sortingIn(dirname(path), db, () => change.immediate());
  else change.immediate();
}

/**
 * Removes what ANALYZE recorded. Every statement is written for the plan that SQLite makes without statistics; those of
 * a chain that was small once turn such plans into scans of what has become large.
 * @returns whether there was any
 */
function forgetStatistics(db: Database): boolean {
  const tables = db
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'sqlite_stat[0-9]'")
    .all();
  for (const { name } of tables) db.run(`DROP TABLE ${name}`);
  return tables.length > 0;
}

/**
 * What a writer writes: `events` as they come, or `bulk`: a long chain at once, while nobody is served. A file that `bulk`
 * makes lacks the secondary indexes, which are made at the end of the load (secondary-indexes.ts).
 */
export type Load = 'events' | 'bulk';

/**
 * Pages of the write-ahead log after which SQLite copies them into the file. Transactions change the pages of busy accounts
 * again and again, and a page is copied once however often the log has it: a long log means fewer writes.
 */
const LOG_PAGES: Readonly<Record<Load, number>> = { events: 4_000, bulk: 65_536 };

interface WriterOptions {
  /** Opens the file. */
  connect?: Connect;
  load?: Load;
  /** Bytes that the file may not grow beyond: more is an error, as that of a full disk. */
  mostBytes?: number;
  /** Other steps of upgrades than the program's, for tests. */
  steps?: readonly Upgrade[];
}

/** Whether an upgrade added to an index what only a rebuild fills. */
export const needsRebuild = (db: Database): boolean => db.query('SELECT 1 FROM unfilled_upgrades').get() !== null;

const pageSizeOf = (db: Database): number =>
  db.query<{ page_size: number }, []>('PRAGMA page_size').get()?.page_size ?? 4096;

/** The one connection that writes. A commit isn't synced: the journal can bring back one that is lost. */
export function openWriter(directory: string, options: WriterOptions = {}): Connection {
  const { connect = openToWrite, load = 'events', steps = upgrades, mostBytes } = options;
  makePrivateDirectory(directory);
  const path = indexPath(directory);
  let hadStatistics = false;
  const open = () =>
    prepared(connect(path, 'NORMAL'), (db) => {
      db.run('PRAGMA cache_size = -65536');
      db.run(`PRAGMA wal_autocheckpoint = ${LOG_PAGES[load]}`);
      if (mostBytes !== undefined) db.run(`PRAGMA max_page_count = ${Math.floor(mostBytes / pageSizeOf(db))}`);
      bringUpToDate(db, path, load, steps);
      requireOneRows(db, path);
      hadStatistics = forgetStatistics(db);
    });
  const db = open();
  if (!hadStatistics) return db;
  // It would go on planning with what it read of them.
  db.close();
  return open();
}

/** The tables that have one row in every index, which is made with the table. */
export const oneRowTables = ['progress', 'totals', 'staking_totals', 'hook_progress'] as const;

/** The first of these tables whose row is gone; null where all have it. @param schema of the connection */
const tableWithoutRow = (
  db: Database,
  tables: readonly string[] = oneRowTables,
  schema: 'main' | 'old' = 'main',
): string | null => tables.find((table) => db.query(`SELECT 1 FROM ${schema}.${table}`).get() === null) ?? null;

/** @throws OperatorError where a table lacks its one row */
function requireOneRows(db: Database, path: string): void {
  const table = tableWithoutRow(db);
  if (table === null) return;
  throw new OperatorError(
    `${path} is damaged: its table ${table} has no row.`,
    'Rebuild the index from its journal: stackside rebuild.',
  );
}

/** @throws OperatorError where a directory has no index, or not all of its files yet */
export function requireIndex(directory: string): void {
  requireRestored(directory);
  const path = indexPath(directory);
  if (existsSync(path)) return;
  throw new OperatorError(
    `There is no index at ${path}.`,
    'Check --data, or start with stackside serve or stackside import, which create it.',
  );
}

/**
 * A connection that only reads; any number may be open, in other processes too.
 * @throws OperatorError where there is no index, or one of another version
 */
export function openReader(directory: string): Connection {
  requireIndex(directory);
  const path = indexPath(directory);
  return prepared(openToRead(path), (db) => {
    db.run('PRAGMA cache_size = -16384');
    // Not mapped into memory: a page that the disk can't give is an error then, and not the end of the process.
    db.run('PRAGMA mmap_size = 0');
    requireKind(db, path, INDEX);
    const version = versionOf(db);
    if (version !== SCHEMA_VERSION) {
      throw new OperatorError(
        `${path} has schema ${version}; this program reads ${SCHEMA_VERSION}.`,
        'Run the same version as the process that writes the index, and start that process first.',
      );
    }
    requireOneRows(db, path);
  });
}
