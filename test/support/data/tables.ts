/** Tables as text that can be compared: one line for each row, sorted, and no number that depends on the order of events. */
import { Database } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { principalColumns } from '../../../src/store/check/tables.ts';
import { indexPath, journalPath } from '../../../src/store/files/database.ts';
import { decompressed } from '../../../src/store/log/entry.ts';
import { DAILY, NAME_PART } from '../../../src/store/rows/enums.ts';

/** Rows of each table by its name. */
export type Tables = Record<string, string[]>;

/** Tables of the index that don't depend only on the winning chain, each with the reason. */
export const besideTheChain: Readonly<Record<string, string>> = {
  principals: 'numbered in the order of arrival, and ids that an orphaned block brought in stay; rows hold the texts',
  assets: 'as principals',
  orphaned_burn_blocks: 'what lost is exactly what the winning chain does not hold',
  orphaned_blocks: 'what lost is exactly what the winning chain does not hold',
  orphaned_transactions: 'as orphaned_blocks',
  block_payloads: 'holds the payloads of orphaned blocks too, and places in the journal',
  attachments: 'kept whatever becomes of the block they were made in',
  old_namespaces: 'of before the chain, as they were imported',
  old_names: 'as old_namespaces',
  old_zonefiles: 'as old_namespaces',
  subdomains: 'as attachments; the queries ask the chain whether they count',
  mempool_transactions: 'a function of what was announced and dropped, with a separate law',
  mined_receipts: 'as mempool_transactions',
  early_drops: 'as mempool_transactions',
  pending_principals: 'as mempool_transactions',
  pending_counts: 'as mempool_transactions',
  hooks: 'what users registered, and where their hooks stand: carried over by a rebuild',
  hook_secrets: 'what users chose',
  hook_deliveries: 'deliveries of every branch the chain went',
  hook_bodies: 'as hook_deliveries',
  hook_attempts: 'as hook_deliveries',
  hook_ledger: 'what hooks were notified of, wherever the chain went since',
  hook_backfills: 'as hook_deliveries',
  starting_accounts: 'what the node said of accounts, of those that a losing branch touched too',
  progress:
    'place in the journal, versions of the mempool, burn blocks that were announced since, and evaluated blocks of losing branches',
  changes: 'what happened, on the way to whatever chain',
  faucet_requests: 'what clients asked for',
  value_indexes: 'what the operator asked for, and how far that is made',
};

type Value = string | number | bigint | boolean | Uint8Array | null;

/** @param names texts that replace numbers, if the column has them */
function render(value: Value, names: ReadonlyMap<bigint, string> | null): string {
  if (value instanceof Uint8Array) return `0x${value.toHex()}`;
  const isNumber = typeof value === 'bigint' || typeof value === 'number';
  const text = isNumber ? (names?.get(BigInt(value)) ?? value) : value;
  return typeof text === 'string' ? JSON.stringify(text) : String(text);
}

const tableNames = (db: Database): string[] =>
  db
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )
    .all()
    .map(({ name }) => name);

function texts(db: Database, table: string, column: string): Map<bigint, string> {
  const rows = db.query<{ id: bigint; text: string }, []>(`SELECT id, ${column} AS text FROM ${table}`).all();
  return new Map(rows.map(({ id, text }) => [BigInt(id), text]));
}

interface DumpOptions {
  /** Tables that are not dumped. */
  without?: Iterable<string>;
  /** Columns that are not dumped, as `table.column`. */
  withoutColumns?: Iterable<string>;
  /** Texts in place of the numbers of principals and assets. */
  resolved?: boolean;
}

/** The tables as the connection sees them now. */
export function tablesThrough(db: Database, options: DumpOptions = {}): Tables {
  const { without = Object.keys(besideTheChain), withoutColumns = [], resolved = true } = options;
  const [leftOut, leftOutColumns] = [new Set(without), new Set(withoutColumns)];
  const principals = resolved ? texts(db, 'principals', 'address') : null;
  const assets = resolved ? texts(db, 'assets', 'identifier') : null;
  const namesIn = (column: string): ReadonlyMap<bigint, string> | null =>
    principalColumns.has(column) ? principals : column === 'asset_id' ? assets : null;
  const tables: Tables = {};
  for (const table of tableNames(db)) {
    if (leftOut.has(table)) continue;
    const { ft, nft } = table === 'name_parts' ? NAME_PART : DAILY;
    const query = db.query(`SELECT * FROM ${table}`);
    const { columnNames } = query;
    const kindAt = columnNames.indexOf('kind');
    const columns = columnNames
      .map((name, index) => ({ name, index, names: namesIn(name) }))
      .filter(({ name }) => !leftOutColumns.has(`${table}.${name}`));
    tables[table] = (query.values() as Value[][])
      .map((row) => {
        // The kind of a row decides which dictionary has its subject.
        const isAsset = [ft, nft].some((kind) => kind === Number(row[kindAt] ?? null));
        const subjects = isAsset ? assets : principals;
        return columns
          .map(({ name, index, names }) => `${name}=${render(row[index]!, name === 'subject_id' ? subjects : names)}`)
          .join(' ');
      })
      .sort();
  }
  return tables;
}

/** Integers beyond 2^53 stay exact. */
const openExact = (path: string): Database => new Database(path, { readonly: true, safeIntegers: true });

/** The tables that are functions of the chain. */
export function tables(directory: string): Tables {
  using db = openExact(indexPath(directory));
  return tablesThrough(db);
}

/** Every table of the index with its dictionary numbers, except for the changes for subscribers, which imports don't write. */
export function wholeIndex(directory: string, withoutColumns: string[] = []): Tables {
  using db = openExact(indexPath(directory));
  return tablesThrough(db, { without: ['changes'], withoutColumns, resolved: false });
}

export interface JournalRow {
  id: number;
  receivedAt: number;
  path: string;
  text: string;
}

/** Returns the rows of the journal, oldest first; an empty list if there is no journal. */
export function journalRows(directory: string): JournalRow[] {
  if (!existsSync(journalPath(directory))) return [];
  using db = new Database(journalPath(directory), { readonly: true });
  return db
    .query<{ id: number; received_at: number; path: string; payload: Uint8Array }, []>(
      'SELECT * FROM events ORDER BY id',
    )
    .all()
    .map(({ id, received_at, path, payload }) => ({ id, receivedAt: received_at, path, text: decompressed(payload) }));
}

/** Returns the index and the journal, which an operation without effect leaves equal. */
export const everything = (directory: string) => ({ index: wholeIndex(directory), journal: journalRows(directory) });
