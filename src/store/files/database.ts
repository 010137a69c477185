/** Opening the index file: connections, schema and migrations. */
import type { Database } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';
import { MEMPOOL_STATE } from '../rows/words.ts';
import { dropViews, hasViews, makeViews } from '../views/views.ts';
import {
  type Connect,
  type Connection,
  openToRead,
  openToWrite,
  prepared,
  requireKind,
  sortingIn,
  versionOf,
} from './connection.ts';
import { leaveOutListIndexes } from './list-indexes.ts';
import { makePrivateDirectory } from './private-files.ts';
import { requireRestored } from './restore-marker.ts';
import { creationOf, schema } from './schema.ts';

/** Counts changes of schema.sql; kept in the file as PRAGMA user_version. */
export const SCHEMA_VERSION = 9;

export const indexPath = (directory: string): string => join(directory, 'index.db');
export const journalPath = (directory: string): string => join(directory, 'journal.db');

/** What turns a file of version N into one of N + 1, by N. From version 7 on a file may lack indexes of lists. */
const migrations: Readonly<Record<number, string>> = {
  1: `ALTER TABLE progress RENAME TO progress_1;
      ${creationOf('progress')};
      INSERT INTO progress
        SELECT id, chain_id, journal_id, x'', burn_block_height, mempool_pending, mempool_version FROM progress_1;
      DROP TABLE progress_1;`,
  // Transactions of the chain stood in the mempool's table, too.
  2: `${creationOf('mined_receipts')};
      INSERT INTO mined_receipts
        SELECT t.position, m.received_at, m.receipt_block_height
          FROM transactions t JOIN mempool_transactions m ON m.tx_id = t.tx_id
         WHERE t.position >= ((SELECT max(height) FROM blocks) - 6000) << 20;
      DELETE FROM mempool_transactions WHERE tx_id IN (SELECT tx_id FROM transactions);`,
  3: `${creationOf('send_many_contracts')};`,
  4: `${creationOf('value_indexes')};
      ${creationOf('value_index_entries')};`,
  5: `${creationOf('events_ft', 'INDEX')};`,
  6: `${creationOf('hook_origin')};
      INSERT INTO hook_origin VALUES (1, 0, 0);`,
  7: `${creationOf('early_drops')};
      ${creationOf('early_drops_by_height', 'INDEX')};`,
  // Sponsors didn't list what they sponsor.
  8: `INSERT OR IGNORE INTO pending_principals
        SELECT sponsor_id, received_at, tx_id FROM mempool_transactions
         WHERE state = ${MEMPOOL_STATE.pending} AND sponsor_id IS NOT NULL;
      DELETE FROM pending_counts;
      INSERT INTO pending_counts SELECT principal_id, count(*) FROM pending_principals GROUP BY principal_id;`,
};

/**
 * What this program does with an index of some version: it makes an empty file one, uses it, migrates it, has it rebuilt, or
 * leaves it to the newer program that wrote it.
 */
export type IndexFate = 'made' | 'used' | 'migrated' | 'rebuilt' | 'refused';

export function indexFate(version: number): IndexFate {
  if (version === 0) return 'made';
  if (version === SCHEMA_VERSION) return 'used';
  if (version > SCHEMA_VERSION) return 'refused';
  for (let from = version; from < SCHEMA_VERSION; from++) if (migrations[from] === undefined) return 'rebuilt';
  return 'migrated';
}

/** @throws OperatorError where the file is a database of another kind */
export const requireIndexKind = (db: Database, file: string): void =>
  requireKind(db, file, 'an index', ['progress', 'journal_id']);

function migrate(db: Database, path: string, load: Load): void {
  requireIndexKind(db, path);
  const version = versionOf(db);
  const fate = indexFate(version);
  if (fate === 'refused') {
    throw new OperatorError(
      `${path} was written by a newer Stackside (schema ${version}; this program knows ${SCHEMA_VERSION}).`,
      'Run the newer program, or rebuild the index from the journal with this one: stackside rebuild.',
    );
  }
  if (fate === 'rebuilt') {
    throw new OperatorError(
      `${path} has schema ${version}, which this program can't migrate.`,
      'Rebuild the index from the journal: stackside rebuild.',
    );
  }
  if (fate === 'used' && hasViews(db)) return;
  const change = db.transaction(() => {
    if (fate === 'made') {
      db.run(schema);
      if (load === 'bulk') leaveOutListIndexes(db);
    } else if (fate === 'migrated') {
      dropViews(db);
      for (let from = version; from < SCHEMA_VERSION; from++) db.run(migrations[from]!);
    }
    db.run(`PRAGMA user_version = ${SCHEMA_VERSION}`);
    makeViews(db);
  });
  // A new index of a long table is sorted; where the disk of the data has no room for that, its error is right.
  if (fate === 'migrated') sortingIn(dirname(path), db, () => change.immediate());
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
 * makes lacks the indexes of lists, which are made at the end of the load (list-indexes.ts).
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
}

/** The one connection that writes. A commit isn't synced: the journal can bring back one that is lost. */
export function openWriter(directory: string, options: WriterOptions = {}): Connection {
  const { connect = openToWrite, load = 'events' } = options;
  makePrivateDirectory(directory);
  const path = indexPath(directory);
  let hadStatistics = false;
  const open = () =>
    prepared(connect(path, 'NORMAL'), (db) => {
      db.run('PRAGMA cache_size = -65536');
      db.run(`PRAGMA wal_autocheckpoint = ${LOG_PAGES[load]}`);
      migrate(db, path, load);
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
export const oneRowTables = ['progress', 'totals', 'staking_totals', 'hook_progress', 'hook_origin'] as const;

/** The first of these tables whose row is gone; null where all have it. @param schema of the connection */
export const tableWithoutRow = (
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
    requireIndexKind(db, path);
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
