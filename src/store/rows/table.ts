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

type CamelCase<Name> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : Name;

/** A row with the names that models use: the column `hook_id` is `hookId`. */
export type Renamed<Row> = { [Name in keyof Row as CamelCase<Name>]: Row[Name] };

/** The name of a column in {@link Renamed} rows. */
export const modelName = (column: string): string => column.replace(/_(.)/g, (_, letter) => letter.toUpperCase());

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

const numbered = (columns: readonly string[]) => columns.map((_, i) => `?${i + 1}`).join(', ');

/** The statements of a table and the values that they bind, the same for all connections. */
const statementsOf = memoizeByObject(({ name, key, columns }: TableShape) => {
  const written = Object.keys(columns).filter((column) => columns[column] !== 'id');
  const where = key.map((column, i) => `${column} = ?${i + 1}`).join(' AND ');
  return {
    insert: `INSERT INTO ${name} (${written.join(', ')}) VALUES (${numbered(written)})`,
    find: `SELECT ${Object.keys(columns).join(', ')} FROM ${name} WHERE ${where}`,
    remove: `DELETE FROM ${name} WHERE ${where}`,
    conflict: `ON CONFLICT (${key.join(', ')}) DO UPDATE SET`,
    others: written.filter((column) => !key.includes(column)),
    valuesOf: compileValues(written),
    modelValuesOf: compileValues(written.map(modelName)),
    keyOf: compileValues(key),
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

/** Makes a function that adds a row, and returns the number that SQLite assigns to it. */
export function inserter<S extends TableShape>(db: Database, shape: S): (row: NewRow<S>) => number {
  const { insert, valuesOf } = statementsOf(shape);
  const run = runner<NewRow<S>>(db.prepare(insert), valuesOf);
  return (row) => Number(run(row).lastInsertRowid);
}

/** Makes a function that adds a row with the names that models use. Other properties of the object are ignored. */
export function modelInserter<S extends TableShape>(db: Database, shape: S): (row: Renamed<NewRow<S>>) => void {
  const { insert, modelValuesOf } = statementsOf(shape);
  return runner<Renamed<NewRow<S>>>(db.prepare(insert), modelValuesOf);
}

/** Makes a function that adds rows, each a list of the values of some columns. */
export function listInserter(db: Database, table: string, columns: readonly string[]): (row: Values) => void {
  const statement = db.prepare<null, Values>(
    `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${numbered(columns)})`,
  );
  return (row) => void statement.run(row as never);
}

/** Makes a function that adds to the count in the row with a key. The row exists while its count isn't 0. */
export function countAdder<S extends TableShape>(db: Database, shape: S, column: string & keyof NewRow<S>) {
  const { insert, conflict, remove, valuesOf, keyOf } = statementsOf(shape);
  const add = runner(db.prepare(`${insert} ${conflict} ${column} = ${column} + excluded.${column}`), valuesOf);
  const removeEmpty = runner(db.prepare(`${remove} AND ${column} = 0`), keyOf);
  return (row: NewRow<S>): void => {
    add(row);
    if (Number(row[column]) < 0) removeEmpty(row);
  };
}

/**
 * Makes functions that read, add, replace and remove rows by key.
 * @param unchanged columns with the same value in every row of a key, so that replacing a row leaves their indexes
 */
export function table<S extends TableShape>(db: Database, shape: S, unchanged: readonly (keyof NewRow<S>)[] = []) {
  const { insert, find, remove, conflict, others, valuesOf, keyOf } = statementsOf(shape);
  const replaced = others.filter((column) => !(unchanged as readonly string[]).includes(column));
  const sets = replaced.map((column) => `${column} = excluded.${column}`).join(', ');
  const found = db.prepare<StoredRow<S>, Values>(find);
  const add = inserter(db, shape);
  const insertedIfAbsent = runner<NewRow<S>>(db.prepare(`${insert} ON CONFLICT DO NOTHING`), valuesOf);
  const set = runner<NewRow<S>>(db.prepare(sets === '' ? insert : `${insert} ${conflict} ${sets}`), valuesOf);
  const removed = runner<KeyOf<S>>(db.prepare(remove), keyOf);

  /** Removes a row. @returns whether there was one */
  const removeIfPresent = (key: KeyOf<S>): boolean => removed(key).changes > 0;
  /** @throws Error if there is no such row */
  function removeRow(key: KeyOf<S>): void {
    if (!removeIfPresent(key)) throw new Error(`${shape.name} had no row to take away`);
  }
  return {
    /** The row with a key; null if there is none. */
    find: (key: KeyOf<S>): StoredRow<S> | null => found.get(keyOf(key) as never),
    /** Adds a row. @returns the number that SQLite assigns to it */
    add,
    /** Adds a row unless it conflicts with another. @returns the number that SQLite assigns to it; null if it isn't added */
    addIfAbsent(row: NewRow<S>): number | null {
      const { changes, lastInsertRowid } = insertedIfAbsent(row);
      return changes === 0 ? null : Number(lastInsertRowid);
    },
    /** Adds a row, or replaces the one with its key. */
    put: (row: NewRow<S>): void => void set(row),
    remove: removeRow,
    removeIfPresent,
    /** Adds a row if the sign is 1; otherwise removes the row with its key. @throws Error if there is no such row */
    move: (sign: 1 | -1, row: NewRow<S> & KeyOf<S>): void => (sign === 1 ? void add(row) : removeRow(row)),
  };
}
