/** Compares every table that is a function of the journal, row by row, with an index that is made from the journal. */
import type { Database } from 'bun:sqlite';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';
import { onFile } from '../../base/system-errors.ts';
import { openToRead } from '../files/connection.ts';
import { indexPath, openReader } from '../files/database.ts';
import { hasJournalOf } from '../files/journal-link.ts';
import { type Lock, lockWriter } from '../files/lock.ts';
import { openIngest } from '../ingest/ingest.ts';
import type { ComposeMachine } from '../ingest/state-machine.ts';
import type { Head } from '../log/entry.ts';
import type { CheckRun } from './checks.ts';
import { rowDifferences, type Table } from './row-comparison.ts';

/** Local tables, which are no function of the log, each with the reason. All others can be made from the log's entries. */
export const localTables: Readonly<Record<string, string>> = {
  changes: 'what is pushed to realtime clients, which stays for a while, and a rebuild pushes nothing',
  value_indexes: 'a setting of the operator, and how far this host has made what it asks for',
  value_index_entries: 'made of the chain for that setting; a deep check compares them with the logs and calls',
};

/**
 * Tables that only grow, each with the column that grows: a place in the chain. Their rows of a block never change while the
 * block is canonical and `progress.completions` stays, so that the next base takes over what a base has of them (`store/base`).
 */
export const growingTables: Readonly<Record<string, 'position' | 'height'>> = {
  blocks: 'height',
  transactions: 'position',
  transaction_bodies: 'position',
  events: 'position',
  principal_transactions: 'position',
  token_changes: 'position',
  memo_transfers: 'position',
  account_checkpoints: 'height',
  token_checkpoints: 'height',
  miner_rewards: 'height',
};

/** Staging directory for the other index, inside the data directory since it is as large as the checked index. */
const STAGING = 'check';

/** The tables that are functions of the journal. @param db a connection that reads exact integers */
export function journaledTables(db: Database): Table[] {
  const all = db
    .query<Table, []>("SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' ORDER BY name")
    .all();
  return all.filter(({ name }) => !name.startsWith('sqlite_') && !Object.hasOwn(localTables, name));
}

/** The inputs that the index was made from. */
interface TablesOrigin extends Head {
  chainId: number | null;
}

function readOrigin(stored: Database): TablesOrigin {
  const row = stored
    .query<{ id: bigint; chain: Uint8Array; chainId: bigint | null }, []>(
      'SELECT journal_id AS id, journal_chain AS chain, chain_id AS chainId FROM progress',
    )
    .get();
  if (row === null) throw new Error('progress has no row');
  const chainId = row.chainId === null ? null : Number(row.chainId);
  return { id: Number(row.id), chain: row.chain, chainId };
}

/** @throws OperatorError if the whole index can't be made from the journal */
function requireComparable(directory: string, position: Head): void {
  if (hasJournalOf(directory, position)) return;
  throw new OperatorError(
    `The journal in ${directory} lacks events that the index was built from, so there is nothing to compare the index with.`,
    'Run stackside check without --deep, or put back the journal.db that belongs to this index.db.',
  );
}

interface DeepCheck {
  directory: string;
  /** Makes the state machine of commands. */
  machine: ComposeMachine;
}

/** Makes an index from the journal up to an entry, calls `use` with it, and removes it. */
function withIndexAt<T>(
  { directory, machine }: DeepCheck,
  { id, chainId }: TablesOrigin,
  use: (rebuilt: Database) => T,
): T {
  const staging = join(directory, STAGING);
  const isBegun = existsSync(staging);
  let lock: Lock | null = null;
  try {
    lock = lockWriter(staging);
    for (const suffix of ['', '-wal', '-shm']) rmSync(indexPath(staging) + suffix, { force: true });
    const options = { directory, staging, replayTo: id, chainId, log: () => {}, machine };
    openIngest({ ...options, load: 'bulk', views: false }).close();
    using connection = openToRead(indexPath(staging), true);
    return use(connection);
  } finally {
    lock?.[Symbol.dispose]();
    // The directory may belong to another check that is running.
    if (lock !== null || !isBegun) rmSync(staging, { recursive: true, force: true });
  }
}

/** Compares the tables. @throws OperatorError if the journal isn't the one that the index was made from */
export function checkTables(run: CheckRun, check: DeepCheck): void {
  const { directory } = check;
  using stored = openToRead(indexPath(directory), true);
  stored.run('BEGIN');
  const origin = readOrigin(stored);
  requireComparable(directory, origin);
  withIndexAt(check, origin, (rebuilt) => {
    const tables = journaledTables(stored);
    run.expect(tables.length);
    for (const table of tables) {
      run.examine(`table ${table.name} against the journal`, () => rowDifferences(stored, rebuilt, table));
    }
  });
}

export interface TableSize {
  name: string;
  kind: 'table' | 'index';
  /** The table itself, or the table of the index. */
  table: string;
  bytes: number;
}

/**
 * Measures the tables and indexes of a data directory, while the writer continues. To measure one, SQLite reads all of its
 * pages.
 * @param report called before each one, with its number and name
 * @throws OperatorError if there is no index, or it can't be read
 */
export function* tableSizes(
  directory: string,
  report: (step: { number: number; of: number; name: string }) => void,
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
  for (const [index, item] of all.entries()) {
    report({ number: index + 1, of: all.length, name: item.name });
    const bytes = onFile(indexPath(directory), () => size.get(item.name)?.bytes ?? 0);
    yield { ...item, bytes };
  }
}
