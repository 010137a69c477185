/**
 * Compares every table that is a function of the journal, row by row, with an index that is made from the journal. Problems
 * name a row by its key, with addresses and assets in place of their numbers.
 */
import type { Database, SQLQueryBindings } from 'bun:sqlite';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bytesEqual } from '../../base/bytes-equal.ts';
import { OperatorError } from '../../base/errors.ts';
import { onFile } from '../../base/system-errors.ts';
import { positionText } from '../../chain/position.ts';
import { openToRead } from '../files/connection.ts';
import { indexPath, openReader } from '../files/database.ts';
import { hasJournalOf } from '../files/journal-link.ts';
import { type Lock, lockWriter } from '../files/lock.ts';
import { openIngest } from '../ingest/ingest.ts';
import type { ComposeMachine } from '../ingest/state-machine.ts';
import type { Head } from '../log/entry.ts';
import { numbers } from '../queries/numbers.ts';
import type { CheckRun } from './checks.ts';

/** A value of a row, with exact integers. */
export type Value = string | bigint | number | Uint8Array | null;

/** A table of an index, as `pragma_table_list` describes it. */
interface Table {
  name: string;
  /** 1 for a table WITHOUT ROWID. */
  wr: bigint;
}

/** Columns with the number of a principal, if they contain integers. */
export const principalColumns: ReadonlySet<string> = new Set([
  'principal_id',
  'owner_id',
  'sender_id',
  'sponsor_id',
  'recipient_id',
  'contract_id',
  'miner_id',
  'stacker_id',
  'pool_id',
  'staker_id',
  'signer_id',
]);

/** Keys of tables that declare no primary key. */
const undeclaredKeys: Readonly<Record<string, readonly string[]>> = {
  block_payloads: ['index_block_hash'],
  faucet_requests: ['currency', 'address', 'requested_at'],
  mempool_transactions: ['tx_id'],
  orphaned_burn_blocks: ['hash'],
};

const readColumns = (db: Database, table: string): { name: string; pk: bigint }[] =>
  db.query<{ name: string; pk: bigint }, [string]>('SELECT name, pk FROM pragma_table_info(?1)').all(table);

/** The columns that identify a row. Rowids don't: a mempool transaction that a fork restores gets a new one. */
function readKey(db: Database, name: string): readonly string[] {
  const declared = readColumns(db, name)
    .filter(({ pk }) => pk > 0n)
    .sort((a, b) => Number(a.pk - b.pk))
    .map((column) => column.name);
  const key = declared.length > 0 ? declared : undeclaredKeys[name];
  if (key === undefined) throw new Error(`Table ${name} has no key.`);
  return key;
}

/** The rows of a table, in the order of their keys. @param db a connection that reads exact integers */
export function* rowsOf(db: Database, { name, wr }: Table): Generator<Value[]> {
  const order = [...readKey(db, name), ...(wr === 1n ? [] : ['rowid'])].join(', ');
  const rows = db.query<Record<string, Value>, SQLQueryBindings[]>(`SELECT * FROM ${name} ORDER BY ${order}`);
  for (const row of rows.iterate()) yield Object.values(row);
}

const isSame = (a: Value, b: Value): boolean =>
  a instanceof Uint8Array && b instanceof Uint8Array ? bytesEqual(a, b) : a === b;

/** The place of a value's type in the order of SQLite. */
const typeRank = (value: Value): number =>
  value === null ? 0 : typeof value === 'string' ? 2 : value instanceof Uint8Array ? 3 : 1;

const bytesOf = (value: Value): Uint8Array => (value instanceof Uint8Array ? value : Buffer.from(String(value)));

/** Compares two values as SQLite orders them. @returns a negative number, 0 or a positive number */
function compare(a: Value, b: Value): number {
  const rank = typeRank(a) - typeRank(b);
  if (rank !== 0 || a === null || b === null) return rank;
  if (typeRank(a) > 1) return Buffer.compare(bytesOf(a), bytesOf(b));
  return a < b ? -1 : Number(a > b);
}

function compareKeys(ours: readonly Value[], theirs: readonly Value[], key: readonly number[]): number {
  for (const index of key) {
    const order = compare(ours[index] ?? null, theirs[index] ?? null);
    if (order !== 0) return order;
  }
  return 0;
}

/** Characters of a value that a problem shows. */
const MAX_VALUE_LENGTH = 80;

const shortened = (text: string): string =>
  text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text;

/** Makes a function that returns a column of a key with its value, in words. @param rebuilt gives the same numbers as the index */
function keyTexts(rebuilt: Database) {
  const { addressOf, identifierOf } = numbers(rebuilt);
  return (column: string, value: Value): string => {
    if (column === 'position') return positionText(Number(value));
    if (typeof value === 'bigint') {
      if (principalColumns.has(column)) return `${column.replace(/_id$/, '')} ${addressOf(Number(value)) || value}`;
      if (column === 'asset_id') return `asset ${identifierOf(Number(value)) || value}`;
    }
    return `${column} ${shortened(value instanceof Uint8Array ? `0x${value.toHex()}` : String(value))}`;
  };
}

/**
 * Yields a sentence for each row of a table that is missing, isn't in the other index, or differs.
 * @param stored the index to check @param rebuilt the index that is right; both connections read exact integers
 */
function* rowDifferences(stored: Database, rebuilt: Database, table: Table): Generator<string> {
  const columns = readColumns(rebuilt, table.name).map(({ name }) => name);
  const key = readKey(rebuilt, table.name).map((name) => columns.indexOf(name));
  const textOf = keyTexts(rebuilt);
  const nameOf = (row: readonly Value[]): string =>
    key.map((index) => textOf(columns[index] ?? '', row[index] ?? null)).join(', ');

  const [ours, theirs] = [rowsOf(stored, table), rowsOf(rebuilt, table)];
  let [our, their] = [ours.next(), theirs.next()];
  while (our.done !== true || their.done !== true) {
    const order = our.done === true ? 1 : their.done === true ? -1 : compareKeys(our.value, their.value, key);
    if (order < 0 && our.done !== true) yield `${nameOf(our.value)}: the journal doesn't produce this row`;
    else if (order > 0 && their.done !== true) yield `${nameOf(their.value)}: the row is missing`;
    else if (our.done !== true && their.done !== true) {
      const [row, right] = [our.value, their.value];
      const differing = columns.filter((_, index) => !isSame(row[index] ?? null, right[index] ?? null));
      if (differing.length > 0) yield `${nameOf(right)}: differs in ${differing.join(', ')}`;
    }
    if (order <= 0) our = ours.next();
    if (order >= 0) their = theirs.next();
  }
}

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
  machine: ComposeMachine;
}

/** Makes an index from the journal up to an entry, calls `use` with it, and removes it. */
function withIndexAt(
  { directory, machine }: DeepCheck,
  { id, chainId }: TablesOrigin,
  use: (rebuilt: Database) => void,
): void {
  const staging = join(directory, STAGING);
  const isBegun = existsSync(staging);
  let lock: Lock | null = null;
  try {
    lock = lockWriter(staging);
    for (const suffix of ['', '-wal', '-shm']) rmSync(indexPath(staging) + suffix, { force: true });
    const options = { directory, staging, replayTo: id, chainId, log: () => {}, machine };
    openIngest({ ...options, load: 'bulk', views: false }).close();
    using connection = openToRead(indexPath(staging), true);
    use(connection);
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
