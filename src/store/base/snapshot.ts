/**
 * Reads a snapshot of an index for a base: its position, its tables that are functions of the log, and their rows as lines
 * of JSON.
 */
import type { Database } from 'bun:sqlite';
import { heightOf, positionsOf } from '../../chain/position.ts';
import { growingTables, journaledTables } from '../check/tables.ts';
import { openReader, SCHEMA_VERSION } from '../files/database.ts';
import { positionIn } from '../files/journal-link.ts';
import type { Head } from '../log/entry.ts';
import type { Stored } from '../rows/statement.ts';

export interface BaseColumn {
  name: string;
  type: 'INTEGER' | 'TEXT' | 'BLOB';
  isNullable: boolean;
}

export interface BaseTable {
  name: string;
  columns: readonly BaseColumn[];
  /** The terms that order the rows: those of the key, or the order of arrival. */
  order: readonly string[];
  /** The column that grows, and whether the key begins with it; null if rows may change anywhere. */
  grows: { column: 'position' | 'height'; isFirst: boolean } | null;
}

interface Column {
  name: string;
  type: string;
  isRequired: number;
  pk: number;
}

function columnTypeOf(table: string, { name, type }: Column): BaseColumn['type'] {
  if (type === 'INTEGER' || type === 'TEXT' || type === 'BLOB') return type;
  throw new Error(`${table}.${name} is of another type than those of a base`);
}

function baseTable(db: Database, name: string, isWithoutRowid: boolean): BaseTable {
  const columns = db
    .query<Column, [string]>('SELECT name, type, "notnull" AS isRequired, pk FROM pragma_table_info(?1)')
    .all(name);
  const key = db
    .query<{ name: string; isDescending: number }, [string]>(
      `SELECT x.name, x."desc" AS isDescending FROM pragma_index_list(?1) l JOIN pragma_index_xinfo(l.name) x
        WHERE l.origin = 'pk' AND x.key = 1 ORDER BY x.seqno`,
    )
    .all(name);
  const order = isWithoutRowid ? key.map((part) => (part.isDescending ? `${part.name} DESC` : part.name)) : ['rowid'];
  const [first] = isWithoutRowid ? order : columns.filter(({ pk }) => pk === 1).map((column) => column.name);
  const grows = growingTables[name];
  return {
    name,
    columns: columns.map((column) => ({
      name: column.name,
      type: columnTypeOf(name, column),
      isNullable: !column.isRequired && column.pk === 0,
    })),
    order,
    grows: grows === undefined ? null : { column: grows, isFirst: first === grows },
  };
}

/** The tables of a base in the order of their names. @param db a connection to an index of this program's schema */
export const baseTables = (db: Database): BaseTable[] =>
  journaledTables(db).map(({ name, wr }) => baseTable(db, name, Number(wr) === 1));

/** The tables that private commands write. A journal without private commands leaves them empty. */
const tablesOfCommands: readonly string[] = [
  'hooks',
  'hook_secrets',
  'hook_deliveries',
  'hook_bodies',
  'hook_attempts',
  'hook_ledger',
  'hook_backfills',
  'faucet_requests',
  'old_namespaces',
  'old_names',
  'old_zonefiles',
];

/** Columns of other tables that private commands write. They are 0 without private commands, and older schemas lack them. */
const columnsOfCommands: Readonly<Record<string, string>> = { progress: 'hooks_epoch' };

/** Returns the part of rows that only private commands write, such as `rows of hooks`; null if there is none. */
export function privateContentIn(
  { name, columns }: { name: string; columns: readonly string[] },
  rows: readonly unknown[],
): string | null {
  if (tablesOfCommands.includes(name)) return rows.length === 0 ? null : `rows of ${name}`;
  const zero = columnsOfCommands[name];
  if (zero === undefined || !columns.includes(zero)) return null;
  const index = columns.indexOf(zero);
  return rows.every((row) => Array.isArray(row) && row[index] === 0) ? null : `a value for ${name}.${zero}`;
}

export interface RowLine {
  /** Value of the column that grows; null if any row of the table may change. */
  at: number | null;
  /** A list of the row's values as JSON: blobs in hex, and integers beyond 2^53 as texts. */
  line: string;
}

/** The position of an index in the journal and the chain. */
export interface BaseState {
  /** Version of its schema. */
  schema: number;
  position: Head;
  chainId: number;
  tip: { height: number; indexBlockHash: Uint8Array };
  /** Height of the highest block, canonical or not. */
  highest: number;
  /** Number of times that existing blocks were completed without a change of the tip. */
  completions: number;
}

export interface BaseSnapshot extends Disposable {
  /** Null before the first block, and if only a rebuild can fill data that an upgrade added. */
  readonly state: BaseState | null;
  readonly tables: readonly BaseTable[];
  isCanonical(height: number, indexBlockHash: Uint8Array): boolean;
  /** Reads the rows of a table in their order. @param after reads only rows above this value of the column that grows; null for all */
  rows(table: BaseTable, after: number | null): Generator<RowLine>;
}

/** Number of transactions per sort of their rows, if the key of a growing table starts with another column. */
const SORTED_TOGETHER = 200_000;

/** SQL of a value: numbers that JSON would round are texts. */
function valueSql({ name, type, isNullable }: BaseColumn): string {
  const column = `t.${name}`;
  if (type === 'TEXT') return column;
  if (type === 'INTEGER')
    return `iif(${column} BETWEEN -9007199254740991 AND 9007199254740991, ${column}, ${column} || '')`;
  return isNullable ? `iif(${column} IS NULL, NULL, hex(${column}))` : `hex(${column})`;
}

function lineSql({ name, columns }: BaseTable, isPublic: boolean): string {
  const zero = isPublic ? columnsOfCommands[name] : undefined;
  const values = columns.map((column) => (column.name === zero ? '0' : valueSql(column)));
  return `json_array(${values.join(', ')}) AS line`;
}
const orderOf = ({ order }: BaseTable): string => order.map((term) => `t.${term}`).join(', ');

/**
 * Statements that read all rows of a table, the rows after a place, and the rows between two places by principal.
 * @param isPublic whether they omit rows that private commands wrote
 */
export function rowStatements(table: BaseTable, isPublic: boolean) {
  const { name, grows } = table;
  const growingColumn = grows === null ? 'NULL' : `t.${grows.column}`;
  const select = `SELECT ${growingColumn} AS at, ${lineSql(table, isPublic)}`;
  return {
    all: `${select} FROM ${name} t ORDER BY ${orderOf(table)}`,
    after: `${select} FROM ${name} t WHERE ${growingColumn} > ?1 ORDER BY ${orderOf(table)}`,
    // The key begins with the principal, so that the rows of each are found by the place.
    between: `${select} FROM principals p CROSS JOIN ${name} t ON t.principal_id = p.id AND ${growingColumn} > ?1 AND ${growingColumn} <= ?2
      ORDER BY ${growingColumn}, ${orderOf(table)}`,
  };
}

/** A height above all blocks. Its positions are exact numbers. */
const HIGHEST = 2 ** 32;

/** The greatest value of a column that grows, in the blocks up to a height. */
export const lastAt = (column: 'position' | 'height', height: number): number =>
  column === 'height' ? height : positionsOf(height).last;

/** Yields the heights that split the rows into groups of about SORTED_TOGETHER transactions, and a height above all blocks. */
function* heightsBetween(db: Database, from: number): Generator<number> {
  const preceding = db.query<{ transactions: number }, [number]>(
    'SELECT preceding_transactions AS transactions FROM blocks WHERE height > ?1 ORDER BY height LIMIT 1',
  );
  const blockOf = db.query<{ height: number }, [number]>(
    'SELECT height FROM blocks WHERE preceding_transactions >= ?1 ORDER BY preceding_transactions, height LIMIT 1',
  );
  let below = from;
  for (let row = preceding.get(below); row !== null; row = preceding.get(below)) {
    const next = blockOf.get(row.transactions + SORTED_TOGETHER);
    if (next === null) break;
    // The block itself is read with the next group, unless it is the first block above `below`.
    below = Math.max(below + 1, next.height - 1);
    yield below;
  }
  yield HIGHEST;
}

function* betweenHeights(db: Database, table: BaseTable, after: number | null): Generator<RowLine> {
  const { grows } = table;
  if (grows === null) throw new Error('the table grows');
  const { column } = grows;
  const rows = db.query<RowLine, [number, number]>(rowStatements(table, false).between);
  let from = after ?? -1;
  for (const height of heightsBetween(db, column === 'height' ? from : heightOf(from + 1) - 1)) {
    const to = lastAt(column, height);
    yield* rows.iterate(from, to);
    from = to;
  }
}

function readState(db: Database): BaseState | null {
  const position = positionIn(db);
  const chainId = db.query<{ id: number | null }, []>('SELECT chain_id AS id FROM progress').get()?.id ?? null;
  const tip = db
    .query<BaseState['tip'], []>(
      'SELECT height, index_block_hash AS indexBlockHash FROM blocks ORDER BY height DESC LIMIT 1',
    )
    .get();
  if (chainId === null || tip === null) return null;
  const progress = db.query<Stored<'progress', 'completions'>, []>('SELECT completions FROM progress').get();
  const orphaned = db.query<{ height: number | null }, []>('SELECT max(height) AS height FROM orphaned_blocks').get();
  return {
    schema: SCHEMA_VERSION,
    position,
    chainId,
    tip,
    highest: Math.max(tip.height, orphaned?.height ?? 0),
    completions: progress?.completions ?? 0,
  };
}

/**
 * Takes a snapshot of the index of a directory, while the writer may continue. The write-ahead log can't be emptied before the
 * snapshot is closed.
 * @param isPublic whether the base is public: then it has the rows of a journal without private commands
 * @throws OperatorError if there is no index, or one of another version
 */
export function snapshotForBase(directory: string, isPublic: boolean): BaseSnapshot {
  const db = openReader(directory);
  try {
    db.run('BEGIN');
    const canonical = db.query<unknown, [number, Uint8Array]>(
      'SELECT 1 FROM blocks WHERE height = ?1 AND index_block_hash = ?2',
    );
    return {
      state: readState(db),
      tables: baseTables(db),
      isCanonical: (height, indexBlockHash) => canonical.get(height, indexBlockHash) !== null,
      *rows(table, after) {
        if (isPublic && tablesOfCommands.includes(table.name)) return;
        const { all, after: from } = rowStatements(table, isPublic);
        if (table.grows?.isFirst === false) yield* betweenHeights(db, table, after);
        else if (after === null) yield* db.query<RowLine, []>(all).iterate();
        else yield* db.query<RowLine, [number]>(from).iterate(after);
      },
      [Symbol.dispose]: () => db.close(),
    };
  } catch (error) {
    db.close();
    throw error;
  }
}
