/**
 * The kit of the views for analysts. A column is declared with its type and its meaning; the statement that makes a view,
 * the types of an export and docs/sql.md derive from the declaration. Only functions of SQLite 3.38 and later are used, so
 * that other programs read the views, too.
 */
import { PLACE_BITS } from '../../chain/position.ts';
import { firstPositionIn } from '../rows/position-sql.ts';
import type { StoredWords } from '../rows/stored-words.ts';

/** The form of a column's values: what SQLite returns, and which type a file with typed columns gives it. */
export type ViewType =
  /** A whole number of 64 bits. */
  | 'integer'
  /** 1 or 0. */
  | 'boolean'
  | 'text'
  /** `0x` and lower-case hex digits. */
  | 'hex'
  /** A whole number of up to 128 bits as decimal digits. */
  | 'amount'
  /** ISO 8601 in UTC with milliseconds. */
  | 'time'
  /** Raw bytes, by which an index finds a row. */
  | 'bytes';

export interface ViewColumn {
  type: ViewType;
  /** An expression over the view's tables. */
  sql: string;
  /** A sentence without its full stop. */
  help: string;
}

export interface View {
  name: string;
  /** What one row is, as a sentence. */
  help: string;
  columns: Readonly<Record<string, ViewColumn>>;
  /** What follows FROM; a list for a view of several SELECTs, each with the expressions that stand for the columns. */
  from: string | readonly ViewPart[];
  /** The columns by whose value alone an index finds rows. */
  indexed: readonly string[];
  /** The columns that order the rows of an export; an index has this order. */
  order: readonly string[];
  /** How an export finds a range of heights; null where rows belong to no block. */
  range: 'position' | 'block_height' | null;
}

/** One SELECT of a view that has several. */
export interface ViewPart {
  columns: readonly string[];
  from: string;
}

/** Declares a view. @param declared its name has no version */
export const view = (declared: View): View => ({ ...declared, name: `v1_${declared.name}` });

const column = (type: ViewType, sql: string, help: string): ViewColumn => ({ type, sql, help });

export const integer = (sql: string, help: string) => column('integer', sql, help);
export const boolean = (sql: string, help: string) => column('boolean', `CAST(${sql} AS INTEGER)`, help);
export const text = (sql: string, help: string) => column('text', sql, help);
export const bytes = (sql: string, help: string) => column('bytes', sql, help);
/** An amount whose column holds decimal text. */
export const amount = (sql: string, help: string) => column('amount', sql, help);

/** Hex of a column that is never null. */
export const hex = (sql: string, help: string) => column('hex', `CAST('0x' || lower(hex(${sql})) AS TEXT)`, help);

/** Hex of a column that may be null. */
export const optionalHex = (sql: string, help: string) => column('hex', hexOrNull(sql), help);

export const hexOrNull = (sql: string): string =>
  `CAST(CASE WHEN ${sql} IS NOT NULL THEN '0x' || lower(hex(${sql})) END AS TEXT)`;

/** A time whose column holds Unix seconds. */
export const time = (sql: string, help: string) =>
  column('time', `CAST(strftime('%Y-%m-%dT%H:%M:%S.000Z', ${sql}, 'unixepoch') AS TEXT)`, help);

/** A time whose column holds smaller units than seconds. @param perSecond how many make a second: 1,000 or more */
export const fineTime = (sql: string, perSecond: number, help: string) =>
  column(
    'time',
    `CAST(strftime('%Y-%m-%dT%H:%M:%S.', ${sql} / ${perSecond}, 'unixepoch')
       || substr('00' || (${sql} / ${perSecond / 1000} % 1000), -3) || 'Z' AS TEXT)`,
    help,
  );

/** Each digit as what it lacks of 9. */
function complementOf(sql: string): string {
  const digits = [...'0123456789'];
  const letters = digits.reduce((inner, digit, i) => `replace(${inner}, '${digit}', '${'abcdefghij'[i]}')`, sql);
  return digits.reduce((inner, _, i) => `replace(${inner}, '${'abcdefghij'[i]}', '${9 - i}')`, letters);
}

/** The decimal text of an amount that sorts as text (store/rows/amounts.ts). */
export const decimal = (sql: string): string =>
  `CAST(CASE substr(${sql}, 1, 1) WHEN '-' THEN '-' || ${complementOf(`substr(${sql}, 3)`)} ELSE substr(${sql}, 2) END AS TEXT)`;

/** The decimal text of an amount that sorts as text and is never negative. */
export const unsigned = (sql: string): string => `CAST(substr(${sql}, 2) AS TEXT)`;

/** An amount whose column sorts as text and may be negative. */
export const sortableAmount = (sql: string, help: string) => column('amount', decimal(sql), help);

/** A word whose column holds a number. @param shown the word for another, where several numbers have one */
export const word = <W extends string>(
  sql: string,
  stored: StoredWords<W>,
  help: string,
  shown: (word: W) => string = (same) => same,
) => {
  const cases = stored.words.map((one) => `WHEN ${stored.numberOf(one)} THEN '${shown(one)}'`);
  const words = [...new Set(stored.words.map(shown))].map((one) => `\`${one}\``);
  return column('text', `CAST(CASE ${sql} ${cases.join(' ')} END AS TEXT)`, `${help}: ${words.join(', ')}`);
};

/**
 * What joins blocks `b` with positions. Each side is found by the other's key, so that SQLite may begin with either.
 * @param position an expression
 */
export const inBlock = (position: string): string =>
  `b.height = ${position} >> ${PLACE_BITS}
     AND ${position} >= (${firstPositionIn('b.height')}) AND ${position} < (${firstPositionIn('(b.height + 1)')})`;

/** The statement that makes a view, in the form in which SQLite keeps it. */
export function creationOf({ name, columns, from }: View): string {
  const parts = typeof from === 'string' ? [{ columns: Object.values(columns).map(({ sql }) => sql), from }] : from;
  const names = Object.keys(columns);
  const selects = parts.map(
    (part) => `SELECT ${part.columns.map((sql, i) => `${sql} AS ${names[i]}`).join(',\n  ')}\n  FROM ${part.from}`,
  );
  return `CREATE VIEW ${name} AS\n${selects.join('\nUNION ALL\n')}`;
}
