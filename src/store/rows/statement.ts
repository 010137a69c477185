/** Prepared queries, what they read, and how many entries of an index a list by offset passes over. */
import type { Database, SQLQueryBindings, Statement } from 'bun:sqlite';
import type { StoredRow } from './table.ts';
import type * as tables from './tables.ts';

type Shapes = typeof tables;
/** Rows by the names of their tables. */
type Rows = { [Export in keyof Shapes as Shapes[Export]['name']]: StoredRow<Shapes[Export]> };

/** Some columns of a table's row as they are read; all of them where none is named. */
export type Stored<Table extends keyof Rows, Name extends keyof Rows[Table] = keyof Rows[Table]> = Pick<
  Rows[Table],
  Name
>;

/** Columns of integers that a query reads as decimal text, since numbers are exact below 2^53 alone. */
export type AsText<Row> = { [Name in keyof Row]: string | Extract<Row[Name], null> };

/** An answer would cost more than one request may. The message says what to ask for instead. */
export class TooMuchWorkError extends Error {
  override readonly name = 'TooMuchWorkError';
}

/** Entries of an index that one request may count or pass over. */
export const MOST_ENTRIES = 1_000_000;

const OFFSET = /\bOFFSET \?(\d+)/;

/**
 * Makes a list by offset pass over {@link MOST_ENTRIES} at most, since SQLite steps over them one by one and in one turn.
 * Behind the end of a list there is nothing, however great the offset is.
 * @param place of the offset among the values
 */
function boundOffset<Row>(statement: Statement<Row, SQLQueryBindings[]>, place: number): void {
  const all = statement.all.bind(statement);
  const bounded = (...values: SQLQueryBindings[]): Row[] => {
    if (Number(values[place]) <= MOST_ENTRIES) return all(...values);
    if (all(...values.with(place, MOST_ENTRIES)).length === 0) return [];
    throw new TooMuchWorkError(`querystring/offset must be <= ${MOST_ENTRIES} in a list of this length`);
  };
  statement.all = bounded;
  statement.get = (...values) => bounded(...values)[0] ?? null;
  statement.iterate = (...values) => bounded(...values).values();
}

/**
 * A prepared query, compiled once. One whose OFFSET is a parameter passes over a bounded number of entries.
 *
 * Where SQLite plans a query with a bare parameter in an `=` or a LIMIT, it looks at the value bound to it, and so
 * compiles the query anew whenever one is bound: up to ten times what the query itself costs. It doesn't look behind a
 * unary plus, which has no other effect.
 * @throws TooMuchWorkError when it runs, where a list has more entries before the offset
 */
export function prepared<Row, Values extends SQLQueryBindings[]>(db: Database, sql: string) {
  const statement = db.prepare<Row, Values>(sql.replace(/\?\d+/g, '+$&'));
  const offset = OFFSET.exec(sql)?.[1];
  if (offset !== undefined) boundOffset(statement as Statement<Row, SQLQueryBindings[]>, Number(offset) - 1);
  return statement;
}
