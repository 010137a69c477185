/** Prepared queries, the types of their rows, and the bound of offsets. */
import type { Database, SQLQueryBindings, Statement } from 'bun:sqlite';
import { lazy } from '../../base/cache.ts';
import { modelName, type StoredRow } from './table.ts';
import type * as tables from './tables.ts';

type Shapes = typeof tables;
type Rows = { [Export in keyof Shapes as Shapes[Export]['name']]: StoredRow<Shapes[Export]> };

/** Some columns of a table's row; all of them without names. */
export type Stored<Table extends keyof Rows, Name extends keyof Rows[Table] = keyof Rows[Table]> = Pick<
  Rows[Table],
  Name
>;

/**
 * Columns of {@link Renamed} rows, for a query.
 * @param alias of the table in the query
 * @param expressions in place of columns
 */
export const modelColumns = (
  alias: string,
  columns: readonly string[],
  expressions: Readonly<Record<string, string>> = {},
): string => columns.map((name) => `${expressions[name] ?? `${alias}.${name}`} AS ${modelName(name)}`).join(', ');

/** Integer columns that a query reads as decimal text, since numbers are exact only below 2^53. */
export type AsText<Row> = { [Name in keyof Row]: string | Extract<Row[Name], null> };

/** Integer columns that a query reads as numbers if they are exact, otherwise as decimal text. */
export type AsNumberOrText<Row> = { [Name in keyof Row]: string | Row[Name] };

/** Returns the model of a row; undefined if there is no row. */
export const optional = <Row, Model>(row: Row | null, modelOf: (row: Row) => Model): Model | undefined =>
  row === null ? undefined : modelOf(row);

/** Thrown if an answer would cost more than one request may. The message suggests a cheaper request. */
export class TooMuchWorkError extends Error {
  override readonly name = 'TooMuchWorkError';
}

/** Maximum number of an index's entries that a request may count or skip. */
export const MAX_ENTRIES = 1_000_000;

const OFFSET = /\bOFFSET \?(\d+)/;

/**
 * Bounds the offset of a list to {@link MAX_ENTRIES}, since SQLite steps over the skipped entries one by one, in one turn.
 * Any offset after the end of a list finds no rows.
 * @param index of the offset among the values
 */
function boundOffset<Row>(statement: Statement<Row, SQLQueryBindings[]>, index: number): void {
  const all = statement.all.bind(statement);
  const bounded = (...values: SQLQueryBindings[]): Row[] => {
    if (Number(values[index]) <= MAX_ENTRIES) return all(...values);
    if (all(...values.with(index, MAX_ENTRIES)).length === 0) return [];
    throw new TooMuchWorkError(`querystring/offset must be <= ${MAX_ENTRIES} in a list of this length`);
  };
  statement.all = bounded;
  statement.get = (...values) => bounded(...values)[0] ?? null;
  statement.iterate = (...values) => bounded(...values).values();
}

/** Declares a statement with the types of its rows and parameters. */
export function query<Row, Values extends SQLQueryBindings[] = []>(
  texts: TemplateStringsArray,
  ...values: readonly unknown[]
) {
  const text = String.raw({ raw: texts }, ...values);
  const compilable = lazy(() => compilableOf(text));
  return { prepared: (db: Database) => preparedFrom<Row, Values>(db, compilable()), toString: () => text };
}

interface Declaration {
  prepared(db: Database): unknown;
}

/** Prepares all statements and lists of an object. SQLite compiles each of them at its first use. */
export const statements = <Queries extends Readonly<Record<string, Declaration>>>(db: Database, queries: Queries) =>
  Object.fromEntries(Object.entries(queries).map(([name, declared]) => [name, declared.prepared(db)])) as {
    [Name in keyof Queries]: ReturnType<Queries[Name]['prepared']>;
  };

/** A query in the form that SQLite compiles. */
interface CompilableQuery {
  sql: string;
  /** Index of the OFFSET among the values; null if it isn't a parameter. */
  offset: number | null;
}

/**
 * Hides the parameters of a query from SQLite's planner.
 *
 * When SQLite plans a query with a bare parameter in an `=` or a LIMIT, it reads the bound value, and so compiles the query
 * again whenever a value is bound, at up to ten times the cost of the query itself. It doesn't read the value behind a unary
 * plus. The plus changes nothing else.
 */
function compilableOf(sql: string): CompilableQuery {
  const offset = OFFSET.exec(sql)?.[1];
  return { sql: sql.replace(/\?\d+/g, '+$&'), offset: offset === undefined ? null : Number(offset) - 1 };
}

function preparedFrom<Row, Values extends SQLQueryBindings[]>(db: Database, { sql, offset }: CompilableQuery) {
  const statement = db.prepare<Row, Values>(sql);
  if (offset !== null) boundOffset(statement as Statement<Row, SQLQueryBindings[]>, offset);
  return statement;
}

/**
 * Prepares a query, compiled once. If its OFFSET is a parameter, the number of skipped entries is bounded.
 * @throws TooMuchWorkError when it runs with a larger offset than the bound in a longer list
 */
export const prepared = <Row, Values extends SQLQueryBindings[]>(db: Database, sql: string) =>
  preparedFrom<Row, Values>(db, compilableOf(sql));
