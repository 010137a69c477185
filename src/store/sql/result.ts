/** Queries of analysts: any single SELECT over the index, through a connection that only reads. */
import { Database, SQLiteError } from 'bun:sqlite';
import { OperatorError } from '../../base/errors.ts';
import { plural } from '../../base/format.ts';
import { nearestName } from '../../base/nearest-name.ts';
import { operatorErrorOf } from '../../base/system-errors.ts';
import type { Connection } from '../files/connection.ts';
import { openReader } from '../files/database.ts';
import type { ViewType } from '../views/view.ts';
import { makeTemporaryViews, views } from '../views/views.ts';

/** A value of a result. Integers are exact bigints. */
export type SqlValue = bigint | number | string | Uint8Array | null;

/** A value for a parameter of a query: `?1`. */
export type SqlParameter = string | number | boolean | null;

/** The form of a column's values; `mixed` if they have several forms, or are unknown. */
export type Form = ViewType | 'mixed';

export interface ResultColumn {
  name: string;
  form: Form;
}

/** The result of a query. Rows are read as they are iterated. */
export interface Result {
  columns: readonly ResultColumn[];
  rows(): Iterable<SqlValue[]>;
}

/**
 * Opens the index for queries, with the views of this program, not the file's. SQLite sorts in memory, so that
 * no query fills a disk.
 * @throws OperatorError if there is no index, or one of another version
 */
export function openForQueries(directory: string): Connection {
  const db = openReader(directory);
  try {
    db.run('PRAGMA temp_store = MEMORY');
    makeTemporaryViews(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

const REMEDY = 'Correct the query; docs/sql.md and GET /stackside/v1/sql list the views and their columns.';

const viewNames = views.map(({ name }) => name);

/** A sentence with the view that a misspelt name probably means; empty if no view has a similar name. */
export function suggestedView(misspelt: string): string {
  const name = misspelt.toLowerCase();
  const similar = nearestName(name.startsWith('v1_') ? name : `v1_${name}`, viewNames);
  return similar === null ? '' : ` Did you mean ${similar}?`;
}

/** A sentence for the misspelt view in SQLite's error; empty without one. */
function suggestion(message: string): string {
  const misspelt = message.match(/\bv1_\w+/gi)?.find((name) => !viewNames.includes(name.toLowerCase()));
  return misspelt === undefined ? '' : suggestedView(misspelt);
}

/** The place of a byte of a text, both counted from 1: `line 1, column 8`. */
function placeAt(sql: string, byte: number): string {
  const lines = Buffer.from(sql).subarray(0, byte).toString().split('\n');
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
}

/** An error with SQLite's message, and the position of the mistake in the query. */
function queryError(error: SQLiteError, sql: string): OperatorError {
  const where = error.byteOffset < 0 ? '' : ` (${placeAt(sql, error.byteOffset)})`;
  const problem = `SQLite can't run the query: ${error.message}${where}.${suggestion(error.message)}`;
  return new OperatorError(problem, REMEDY, { cause: error });
}

/**
 * Runs a part of a query.
 * @throws OperatorError if the query or the file is at fault
 */
function onQuery<T>(db: Connection, sql: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof SQLiteError)) throw error;
    throw operatorErrorOf(error, db.filename) ?? queryError(error, sql);
  }
}

const EXPLAIN = /^\s*EXPLAIN(\s+QUERY\s+PLAN)?\s/i;

const notOneQueryError = (cause?: unknown): OperatorError =>
  new OperatorError(
    'Only one query at a time is accepted, and only one that reads: SELECT, VALUES, WITH, or EXPLAIN before one of these.',
    'Give a single query. For other statements, use another program on a copy of the file (stackside backup).',
    { cause },
  );

/** Whether a text is a single SELECT: SQLite's grammar accepts nothing else as a subquery. */
function isOneSelect(db: Connection, sql: string): boolean {
  try {
    db.compiled(`SELECT 1 FROM (\n${sql.replace(EXPLAIN, '')}\n)`).finalize();
    return true;
  } catch (error) {
    if (error instanceof SQLiteError) return false;
    throw error;
  }
}

/** A statement that writes, after spaces and comments. Its own mistakes don't matter, because it isn't accepted anyway. */
const WRITE =
  /^(?:\s|--[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*(?:EXPLAIN\s+(?:QUERY\s+PLAN\s+)?)?(?:ALTER|ANALYZE|CREATE|DELETE|DROP|INSERT|REINDEX|REPLACE|UPDATE)\b/i;

/**
 * Prepares the operator's statement.
 * @throws OperatorError if it is empty, or wrong and not a query @throws SQLiteError if it is wrong
 */
function preparedQuery(db: Connection, sql: string) {
  try {
    return db.compiled<Record<string, SqlValue>, SqlParameter[]>(sql);
  } catch (error) {
    // Bun throws this for a text without a statement.
    if (error instanceof RangeError) throw new OperatorError('The query is empty.', 'Give a query.', { cause: error });
    if (error instanceof SQLiteError && WRITE.test(sql)) throw notOneQueryError(error);
    throw error;
  }
}

const onlyViewsError = (cause?: unknown): OperatorError =>
  new OperatorError('Only the views can be queried; their names start with v1_.', REMEDY, { cause });

/** An empty database that only has the views of this program, as tables. */
function viewsWithoutRows(): Database {
  const db = new Database(':memory:');
  for (const { name, columns } of views) db.run(`CREATE TABLE ${name} (${Object.keys(columns).join(', ')})`);
  return db;
}

/** Number of the page that has a file's schema in SQLite. */
const SCHEMA_PAGE = 1;

/** Returns the opcodes of a query, from SQLite's EXPLAIN. @throws OperatorError if the query needs more than the views */
function opcodesOf(db: Database, sql: string, parameters: readonly SqlParameter[]) {
  try {
    return db.query<{ opcode: string; p2: number }, SqlParameter[]>(`EXPLAIN ${sql}`).all(...parameters);
  } catch (error) {
    if (error instanceof SQLiteError) throw onlyViewsError(error);
    throw error;
  }
}

/**
 * Refuses a query that reads anything but the views: the tables behind them, SQLite's schema and table-valued functions.
 * SQLite reports the tables that a query reads, in a database that only has the views.
 * @param text a query that {@link resultOf} takes
 * @throws OperatorError
 */
export function requireOnlyViews(text: string, parameters: readonly SqlParameter[] = []): void {
  using db = viewsWithoutRows();
  const opcodes = opcodesOf(db, text.replace(EXPLAIN, ''), parameters);
  if (opcodes.some(({ opcode, p2 }) => opcode === 'VOpen' || (opcode === 'OpenRead' && p2 === SCHEMA_PAGE)))
    throw onlyViewsError();
}

const isRepeated = (names: readonly string[]): boolean => new Set(names).size < names.length;

/** A query with the same rows and unique column names. */
const withUniqueNames = (sql: string, count: number): string =>
  `WITH result(${Array.from({ length: count }, (_, i) => `c${i}`).join(', ')}) AS (\n${sql}\n) SELECT * FROM result`;

/** @throws OperatorError if a query has not as many parameters as there are values */
function requireParameters(count: number, values: readonly SqlParameter[]): void {
  if (count === values.length) return;
  throw new OperatorError(
    `The query has ${plural(count, 'parameter')}, but the number of values is ${values.length}.`,
    'Give a value for each parameter, from ?1 on, or write the values into the query.',
  );
}

/** The semicolon at the end of a query, with the comments after it. */
const END = /;(?:\s|--[^\n]*(?:\n|$)|\/\*(?:[^*]|\*(?!\/))*\*\/)*$/;

/** Returns a query without its end. In `SELECT ';--'`, the semicolon is no end, so the text is tried as a whole first. */
function withoutEnd(db: Connection, text: string): string {
  const sql = text.replace(/[;\s]+$/, '');
  return isOneSelect(db, sql) ? sql : sql.replace(END, '');
}

/**
 * Prepares a query. Rows are read as they are iterated.
 * @param text one SELECT, VALUES, WITH or EXPLAIN; a semicolon may end it
 * @param parameters values for its parameters
 * @throws OperatorError if the text is none of these; iterating throws it if the query fails
 */
export function resultOf(db: Connection, text: string, parameters: readonly SqlParameter[] = []): Result {
  const sql = onQuery(db, text, () => withoutEnd(db, text));
  return onQuery(db, sql, () => {
    const query = preparedQuery(db, sql);
    if (!query.reader || !query.readonly || !isOneSelect(db, sql)) throw notOneQueryError();
    requireParameters(query.paramsCount, parameters);
    const names = query.columnNames;
    const read =
      isRepeated(names) && !EXPLAIN.test(sql) ? preparedQuery(db, withUniqueNames(sql, names.length)) : query;
    const keys = read.columnNames;
    return {
      columns: names.map((name) => ({ name, form: 'mixed' })),
      *rows() {
        const rows = read.safeIntegers(true).iterate(...parameters);
        for (;;) {
          const { done, value } = onQuery(db, sql, () => rows.next());
          if (done === true) return;
          yield keys.map((key) => value[key] ?? null);
        }
      },
    };
  });
}

/** Forms by SQLite's type of a value. */
const FORMS: Readonly<Record<string, Form>> = { integer: 'integer', real: 'real', text: 'text', blob: 'bytes' };

/** The form of a column, from the first and last of its types in alphabetical order; both null if all values are null. */
function formOf(first: string | null, last: string | null): Form {
  if (first === null) return 'text';
  return first === last ? (FORMS[first] ?? 'mixed') : 'mixed';
}

/** JavaScript types of the values of each form that has only one. */
const TYPES: Partial<Record<Form, string>> = { integer: 'bigint', real: 'number', bytes: 'object' };

/** @throws OperatorError if a value doesn't have its column's form, because the second run returned other values */
function requireForms(columns: readonly ResultColumn[], row: readonly SqlValue[]): void {
  const column = columns.find(({ form }, i) => {
    const value = row[i] ?? null;
    return value !== null && TYPES[form] !== undefined && typeof value !== TYPES[form];
  });
  if (column === undefined) return;
  throw new OperatorError(
    `The query was run twice, and its column ${column.name} had values of other types the second time.`,
    'Leave random() and the like out of the query, or choose another format.',
  );
}

/**
 * The result of a query with the forms of its columns, which takes a first run of the query: a column of SQLite may have
 * values of any type.
 * @param maxRows number of requested rows; null for all
 * @throws OperatorError if the query or the file is at fault; iterating throws it for values of other forms
 */
export function withForms(
  db: Connection,
  text: string,
  parameters: readonly SqlParameter[] = [],
  maxRows: number | null = null,
): Result {
  const result = resultOf(db, text, parameters);
  const sql = text.replace(/[;\s]+$/, '');
  if (EXPLAIN.test(sql)) return result;
  const count = result.columns.length;
  const type = (i: number) => `nullif(typeof(c${i}), 'null')`;
  const typeRange = Array.from({ length: count }, (_, i) => `min(${type(i)}), max(${type(i)})`);
  // Reads one more row, to detect a cut result.
  const read = maxRows === null ? 'result' : `(SELECT * FROM result LIMIT ${maxRows + 1})`;
  const statement = withUniqueNames(sql, count).replace(/\* FROM result$/, `${typeRange.join(', ')} FROM ${read}`);
  const types = onQuery(
    db,
    sql,
    () => db.compiled<Record<string, string | null>, SqlParameter[]>(statement).values(...parameters)[0] ?? [],
  );
  const typeAt = (i: number): string | null => (types[i] ?? null) as string | null;
  const columns = result.columns.map(({ name }, i) => ({ name, form: formOf(typeAt(2 * i), typeAt(2 * i + 1)) }));
  return {
    columns,
    *rows() {
      for (const row of result.rows()) {
        requireForms(columns, row);
        yield row;
      }
    },
  };
}

/** Height of the first block of a partial history, in the present snapshot; null for a whole history. */
export const historyFromOf = (db: Connection): number | null =>
  db.query<{ height: number | null }, []>('SELECT start_height AS height FROM progress').get()?.height ?? null;

/**
 * Begins a snapshot of the index for all later reads. It ends with the connection.
 */
export function beginSnapshot(db: Connection): void {
  db.run('BEGIN');
}
