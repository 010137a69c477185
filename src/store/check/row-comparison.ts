/** Compares the rows of a table in two indexes. Problems name a row by its key, with addresses and assets in place of ids. */
import type { Database, SQLQueryBindings } from 'bun:sqlite';
import { positionText } from '../../chain/position.ts';

/** A value of a row, with exact integers. */
export type Value = string | bigint | number | Uint8Array | null;

/** A table of an index, as `pragma_table_list` describes it. */
export interface Table {
  name: string;
  /** 1 for a table WITHOUT ROWID. */
  wr: bigint;
}

/** Columns with the id of a principal, if they contain integers. */
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
  a instanceof Uint8Array && b instanceof Uint8Array ? Buffer.compare(a, b) === 0 : a === b;

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

/** Makes a function that shows a value of a key. @param dictionaries indexes with principals and assets, best first */
function keyTexts(dictionaries: readonly Database[]) {
  const find = (sql: string) => {
    const queries = dictionaries.map((db) => db.query<{ text: string }, [bigint]>(sql));
    return (id: bigint): string | null => {
      for (const query of queries) {
        const row = query.get(id);
        if (row !== null) return row.text;
      }
      return null;
    };
  };
  const principal = find('SELECT address AS text FROM principals WHERE id = ?1');
  const asset = find('SELECT identifier AS text FROM assets WHERE id = ?1');

  return (column: string, value: Value): string => {
    if (typeof value === 'bigint') {
      const name = principalColumns.has(column) ? principal(value) : column === 'asset_id' ? asset(value) : null;
      if (name !== null) return `${column.replace(/_id$/, '')} ${name}`;
      if (column === 'position') return positionText(Number(value));
    }
    return `${column} ${value instanceof Uint8Array ? shortened(`0x${value.toHex()}`) : shortened(String(value))}`;
  };
}

/**
 * Yields a sentence for each row of a table that is missing, isn't in the other index, or differs.
 * @param stored the index to check @param rebuilt the index that is right; both connections read exact integers
 */
export function* rowDifferences(stored: Database, rebuilt: Database, table: Table): Generator<string> {
  const columns = readColumns(rebuilt, table.name).map(({ name }) => name);
  const key = readKey(rebuilt, table.name).map((name) => columns.indexOf(name));
  const textOf = keyTexts([rebuilt, stored]);
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
