import type { Database, SQLQueryBindings } from 'bun:sqlite';

/** A table's columns by name and type, and its rows by the names of its columns: added, set, and removed by their key. */

/** A question mark is for a column that may be null. `id` is a number that SQLite gives the row. */
type ColumnType = 'integer' | 'text' | 'blob' | 'integer?' | 'text?' | 'blob?' | 'id';

type Columns = Readonly<Record<string, ColumnType>>;

export interface TableShape<C extends Columns = Columns, Key extends string = string, Name extends string = string> {
  name: Name;
  /** The columns by which a row is found. */
  key: readonly Key[];
  columns: C;
}

/** What is bound for a column of each type. */
interface Bound {
  integer: number | bigint;
  text: string;
  blob: Uint8Array;
  'integer?': number | bigint | null;
  'text?': string | null;
  'blob?': Uint8Array | null;
  id: number;
}

/** What a column of each type is read as. */
interface Read extends Bound {
  integer: number;
  'integer?': number | null;
}

type Given<C extends Columns> = { [Name in keyof C as C[Name] extends 'id' ? never : Name]: Bound[C[Name]] };

/** A row as it is written: every column but the number that SQLite gives. */
export type NewRow<S extends TableShape> = Given<S['columns']>;

/** The columns that a row is found by. */
export type KeyOf<S extends TableShape> = { [Name in S['key'][number]]: Bound[S['columns'][Name]] };

/** A row as it is read. Integers are exact below 2^53. */
export type StoredRow<S extends TableShape> = { [Name in keyof S['columns']]: Read[S['columns'][Name]] };

/** Declares a table. @param key columns that no two rows have the same values of; none where there are no such columns */
export const tableShape = <const Name extends string, const C extends Columns, const Key extends keyof C & string>(
  name: Name,
  key: readonly Key[],
  columns: C,
): TableShape<C, Key, Name> => ({ name, key, columns });

type Values = SQLQueryBindings[];

/** The columns that are given for a new row. */
const givenColumns = ({ columns }: TableShape): string[] =>
  Object.keys(columns).filter((name) => columns[name] !== 'id');

/**
 * What takes the values of some columns out of a row, in their order: SQLite binds a list of values in half the time of
 * an object of them.
 */
function valuesOf<Row extends object>(columns: readonly string[]): (row: Row) => Values {
  const names = columns as readonly (keyof Row)[];
  return (row) => {
    const values: Values = [];
    for (const name of names) values.push(row[name] as SQLQueryBindings);
    return values;
  };
}

/** @param conflict what follows the values */
function insertion<S extends TableShape>(db: Database, shape: S, conflict = '') {
  const columns = givenColumns(shape);
  const places = columns.map((_, i) => `?${i + 1}`);
  const parts = [`INSERT INTO ${shape.name} (${columns.join(', ')}) VALUES (${places.join(', ')})`, conflict];
  const statement = db.prepare<null, Values>(parts.join(' ').trimEnd());
  const values = valuesOf<NewRow<S>>(columns);
  return (row: NewRow<S>) => statement.run(...values(row));
}

/** What adds rows. */
export function inserter<S extends TableShape>(db: Database, shape: S): (row: NewRow<S>) => void {
  const insert = insertion(db, shape);
  return (row) => void insert(row);
}

/** What adds rows that SQLite numbers. It returns the number. */
export function numberedInserter<S extends TableShape>(db: Database, shape: S): (row: NewRow<S>) => number {
  const insert = insertion(db, shape);
  return (row) => Number(insert(row).lastInsertRowid);
}

/** What adds a row unless there is one that it must not be beside. It returns the new row's number, else null. */
export function inserterIfAbsent<S extends TableShape>(db: Database, shape: S): (row: NewRow<S>) => number | null {
  const insert = insertion(db, shape, 'ON CONFLICT DO NOTHING');
  return (row) => {
    const { changes, lastInsertRowid } = insert(row);
    return changes === 0 ? null : Number(lastInsertRowid);
  };
}

/** What becomes of a row's columns where a row of its key is there; the others stay as they are. */
interface Changes<Name> {
  /** Take the new row's values. */
  replaced?: readonly Name[];
  /** Grow by the new row's values. */
  summed?: readonly Name[];
}

/** What adds a row, or changes the one of its key. */
export function upserter<S extends TableShape>(
  db: Database,
  shape: S,
  { replaced = [], summed = [] }: Changes<keyof NewRow<S> & string>,
): (row: NewRow<S>) => void {
  const set = [
    ...replaced.map((name) => `${name} = excluded.${name}`),
    ...summed.map((name) => `${name} = ${name} + excluded.${name}`),
  ];
  const insert = insertion(db, shape, `ON CONFLICT (${shape.key.join(', ')}) DO UPDATE SET ${set.join(', ')}`);
  return (row) => void insert(row);
}

/** Adds rows of a table, and takes them away by their key. */
export function table<S extends TableShape>(db: Database, shape: S) {
  const where = shape.key.map((column, i) => `${column} = ?${i + 1}`);
  const remove = db.prepare<null, Values>(`DELETE FROM ${shape.name} WHERE ${where.join(' AND ')}`);
  const keyOf = valuesOf<KeyOf<S>>(shape.key);
  return {
    add: inserter(db, shape),
    /** @throws Error where there is no such row */
    remove(key: KeyOf<S>): void {
      if (remove.run(...keyOf(key)).changes !== 1) throw new Error(`${shape.name} had no row to take away`);
    },
  };
}
