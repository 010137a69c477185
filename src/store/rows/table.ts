import type { Changes, Database, SQLQueryBindings, Statement } from 'bun:sqlite';
import { memoizeByObject } from '../../base/cache.ts';

/** Declarations of tables, and typed functions that add, set and remove their rows by column name. */

/** `?` marks a column that may be null. `id` is a number that SQLite assigns. */
type ColumnType = 'integer' | 'text' | 'blob' | 'integer?' | 'text?' | 'blob?' | 'id';

type Columns = Readonly<Record<string, ColumnType>>;

export interface TableShape<C extends Columns = Columns, Key extends string = string, Name extends string = string> {
  name: Name;
  key: readonly Key[];
  columns: C;
}

/** Types of bound values, by column type. */
interface Bound {
  integer: number | bigint;
  text: string;
  blob: Uint8Array;
  'integer?': number | bigint | null;
  'text?': string | null;
  'blob?': Uint8Array | null;
  id: number;
}

/** Types of read values, by column type. */
interface Read extends Bound {
  integer: number;
  'integer?': number | null;
}

type Writable<C extends Columns> = { [Name in keyof C as C[Name] extends 'id' ? never : Name]: Bound[C[Name]] };

/** A row to write: all columns except the number that SQLite assigns. */
export type NewRow<S extends TableShape> = Writable<S['columns']>;

export type KeyOf<S extends TableShape> = { [Name in S['key'][number]]: Bound[S['columns'][Name]] };

/** A row that was read. Integers are exact below 2^53. */
export type StoredRow<S extends TableShape> = { [Name in keyof S['columns']]: Read[S['columns'][Name]] };

/** Declares a table. @param key columns that identify a row; empty if there are none */
export const tableShape = <const Name extends string, const C extends Columns, const Key extends keyof C & string>(
  name: Name,
  key: readonly Key[],
  columns: C,
): TableShape<C, Key, Name> => ({ name, key, columns });

type Values = SQLQueryBindings[];

/** Returns the values of some columns of a row, in order. */
type ValuesOf<Row> = (row: Row) => Values;

/** Compiled, because reading columns by name takes several times as long. */
const compileValues = (columns: readonly string[]) =>
  new Function('row', `return [${columns.map((name) => `row.${name}`)}];`) as ValuesOf<object>;

/** The INSERT and the DELETE of a table, the same for all connections. */
const changesOf = memoizeByObject(({ name, key, columns }: TableShape) => {
  const written = Object.keys(columns).filter((column) => columns[column] !== 'id');
  const parameters = written.map((_, i) => `?${i + 1}`);
  const where = key.map((column, i) => `${column} = ?${i + 1}`);
  return {
    insert: {
      sql: `INSERT INTO ${name} (${written.join(', ')}) VALUES (${parameters.join(', ')})`,
      valuesOf: compileValues(written),
    },
    remove: { sql: `DELETE FROM ${name} WHERE ${where.join(' AND ')}`, valuesOf: compileValues(key) },
  };
});

/**
 * Makes a function that runs a statement with the values of some columns of a row. A list of values is bound in a third of the
 * time of an object, and in three quarters of the time of as many arguments.
 */
function runner<Row extends object>(statement: Statement<null, Values>, valuesOf: ValuesOf<Row>) {
  // A statement binds an array as its list of values. The type lacks this.
  return (row: Row): Changes => statement.run(valuesOf(row) as never);
}

/** @param conflict the clause after the values */
function insertion<S extends TableShape>(db: Database, shape: S, conflict = '') {
  const { sql, valuesOf } = changesOf(shape).insert;
  return runner<NewRow<S>>(db.prepare(`${sql} ${conflict}`.trimEnd()), valuesOf);
}

/** Makes a function that adds rows. */
export function inserter<S extends TableShape>(db: Database, shape: S): (row: NewRow<S>) => void {
  const insert = insertion(db, shape);
  return (row) => void insert(row);
}

/** Makes a function that adds rows, each a list of the values of some columns. */
export function listInserter(db: Database, table: string, columns: readonly string[]): (row: Values) => void {
  const parameters = columns.map((_, i) => `?${i + 1}`);
  const statement = db.prepare<null, Values>(
    `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${parameters.join(', ')})`,
  );
  return (row) => void statement.run(row as never);
}

/** Makes a function that adds rows and returns the numbers that SQLite assigns. */
export function numberedInserter<S extends TableShape>(db: Database, shape: S): (row: NewRow<S>) => number {
  const insert = insertion(db, shape);
  return (row) => Number(insert(row).lastInsertRowid);
}

/** Makes a function that adds a row unless it conflicts with another. It returns the new row's number, else null. */
export function inserterIfAbsent<S extends TableShape>(db: Database, shape: S): (row: NewRow<S>) => number | null {
  const insert = insertion(db, shape, 'ON CONFLICT DO NOTHING');
  return (row) => {
    const { changes, lastInsertRowid } = insert(row);
    return changes === 0 ? null : Number(lastInsertRowid);
  };
}

/** The changes of an upsert to the columns of an existing row; other columns are unchanged. */
interface RowChanges<Name> {
  /** Columns that get the new row's values. */
  replaced?: readonly Name[];
  /** Columns that the new row's values are added to. */
  summed?: readonly Name[];
}

/** Makes a function that adds a row, or changes the existing one with its key. */
export function upserter<S extends TableShape>(
  db: Database,
  shape: S,
  { replaced = [], summed = [] }: RowChanges<keyof NewRow<S> & string>,
): (row: NewRow<S>) => void {
  const set = [
    ...replaced.map((name) => `${name} = excluded.${name}`),
    ...summed.map((name) => `${name} = ${name} + excluded.${name}`),
  ];
  const insert = insertion(db, shape, `ON CONFLICT (${shape.key.join(', ')}) DO UPDATE SET ${set.join(', ')}`);
  return (row) => void insert(row);
}

/** Makes functions that add rows, and remove them by key. */
export function table<S extends TableShape>(db: Database, shape: S) {
  const { sql, valuesOf } = changesOf(shape).remove;
  const run = runner<KeyOf<S>>(db.prepare(sql), valuesOf);
  const add = inserter(db, shape);
  /** @throws Error if there is no such row */
  function remove(key: KeyOf<S>): void {
    if (run(key).changes !== 1) throw new Error(`${shape.name} had no row to take away`);
  }
  return {
    add,
    remove,
    /** Adds a row if the sign is 1; otherwise removes the row with its key. @throws Error if there is no such row */
    move: (sign: 1 | -1, row: NewRow<S> & KeyOf<S>): void => (sign === 1 ? add(row) : remove(row)),
  };
}
