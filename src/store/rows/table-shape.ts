/** Which columns a table has, by name and type: what rows are written by. */

/** A question mark is for a column that may be null. `id` is a number that SQLite gives the row. */
export type ColumnType = 'integer' | 'text' | 'blob' | 'integer?' | 'text?' | 'blob?' | 'id';

type Columns = Readonly<Record<string, ColumnType>>;

export interface TableShape<C extends Columns = Columns, Key extends string = string> {
  name: string;
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

/** Some columns of a row as they are read. Integers are exact below 2^53. */
export type Stored<S extends TableShape, Name extends keyof S['columns']> = { [N in Name]: Read[S['columns'][N]] };

/** Declares a table. @param key columns that no two rows have the same values of; none where there are no such columns */
export const tableShape = <const C extends Columns, const Key extends keyof C & string>(
  name: string,
  key: readonly Key[],
  columns: C,
): TableShape<C, Key> => ({ name, key, columns });
