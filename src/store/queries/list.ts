/**
 * Lists of rows in the order of a key. A query module declares a list by its columns, its condition and its key. This module
 * writes the statements that read the list in both directions, and reads rows from a key on.
 */
import type { Database, SQLQueryBindings } from 'bun:sqlite';
import { lazy } from '../../base/cache.ts';
import type { CursorKey } from '../model/page.ts';
import { prepared } from '../rows/statement.ts';
import type { Span } from './blocks/windows.ts';
import { bytesAt, numberAt, type RowSource, textAt } from './page.ts';

export type Value = SQLQueryBindings;

/** A column of a list's order. Rows have the column by its name without the alias of its table. */
export interface KeyColumn {
  column: string;
  /** The form of the column's values in a cursor's key. */
  form: keyof typeof forms;
  descends: boolean;
}

/** For each form of a value, the function that reads it in a key, and values below and above all others. */
const forms = {
  number: { read: numberAt, least: Number.MIN_SAFE_INTEGER, greatest: Number.MAX_SAFE_INTEGER },
  text: { read: textAt, least: '', greatest: '\u{10ffff}' },
  bytes: { read: bytesAt, least: new Uint8Array(0), greatest: new Uint8Array(33).fill(0xff) },
} as const;

/** A column in descending order. */
export const down = (column: string, form: KeyColumn['form'] = 'number'): KeyColumn => ({
  column,
  form,
  descends: true,
});
/** A column in ascending order. */
export const up = (column: string, form: KeyColumn['form'] = 'number'): KeyColumn => ({
  column,
  form,
  descends: false,
});

/** Returns the name of a column in rows. */
export const nameOf = ({ column }: KeyColumn): string => column.slice(column.indexOf('.') + 1);

/** Rows of a list, before they are ordered. */
export interface Selection {
  /** Columns and tables. */
  select: string;
  /** The condition. Its parameters, ?1 and so on, are the list's own. */
  where?: string;
}

interface Options {
  /** Whether a request may bound the key's first column. A list with a split order has no bounds. */
  isBounded?: boolean;
  /** Whether rows with the same first column need a separate statement, since SQLite doesn't seek by both columns. */
  isSplit?: boolean;
  union?: 'UNION' | 'UNION ALL';
}

/** Reads a list by the list's own parameters and the bounds of the key's first column. It rejects bounds if it isn't bounded. */
export type Lister<Row> = (parameters: readonly Value[], span?: Bounds) => ListedRows<Row>;

export interface List<Row> {
  key: readonly KeyColumn[];
  /** The statements by name. */
  texts: Readonly<Record<string, string>>;
  prepared(db: Database): Lister<Row>;
}

/** Writes the statements of a list. If it has several selections, each must have an index in the list's order. */
export function orderedList<Row>(
  selections: Selection | readonly Selection[],
  key: readonly KeyColumn[],
  { isBounded = false, isSplit = false, union = 'UNION ALL' }: Options = {},
): List<Row> {
  const parts = [selections].flat();
  const count = Math.max(0, ...[...JSON.stringify(parts).matchAll(/\?(\d+)/g)].map(([, number]) => Number(number)));
  const parameter = (nth: number): string => `?${count + nth}`;
  const tuple = (terms: readonly string[]): string => (terms.length === 1 ? terms.join() : `(${terms.join(', ')})`);
  const columns = key.map(({ column }) => column);
  const [first, second] = key;

  /** @param bound comes first, since SQLite seeks by the first of two bounds */
  function statement(bound: string, order: readonly KeyColumn[], isBackward: boolean, limit: number): string {
    const terms = parts.map(({ select, where }) => {
      const conditions = [bound, where].filter((condition) => condition !== undefined && condition !== '');
      return conditions.length === 0 ? select : `${select} WHERE ${conditions.join(' AND ')}`;
    });
    const sorted = order.map((keyColumn) => {
      const name = terms.length === 1 ? keyColumn.column : nameOf(keyColumn);
      return keyColumn.descends === isBackward ? name : `${name} DESC`;
    });
    return `${terms.join(` ${union} `)} ORDER BY ${sorted.join(', ')} LIMIT ${parameter(limit)}`;
  }

  if (first === undefined) throw new Error('a list without a key');
  // If the columns have opposite orders, no single comparison finds the rows from a key on.
  if (second !== undefined && (isSplit || first.descends !== second.descends)) {
    if (isBounded) throw new Error('a list with a split order has no bounds');
    const beyond = (isBackward: boolean): string =>
      `${first.column} ${first.descends === isBackward ? '>' : '<'} ${parameter(1)}`;
    const equal = (isBackward: boolean): string =>
      `${first.column} = ${parameter(1)} AND ${second.column} ${second.descends === isBackward ? '>=' : '<='} ${parameter(2)}`;
    const texts = {
      head: statement('', key, false, 1),
      equal: statement(equal(false), [second], false, 3),
      beyond: statement(beyond(false), key, false, 2),
      equalBackward: statement(equal(true), [second], true, 3),
      above: statement(beyond(true), key, true, 2),
    };
    return { key, texts, prepared: (db) => splitLister(key, statementRunner<Row, keyof typeof texts>(db, texts)) };
  }
  const directed = (isBackward: boolean): string => {
    const [onward, back] = first.descends === isBackward ? ['>=', '<='] : ['<=', '>='];
    const from = `${tuple(columns)} ${onward} ${tuple(key.map((_, index) => parameter(index + 1)))}`;
    const end = key.length + 1;
    return isBounded
      ? statement(`${from} AND ${first.column} ${back} ${parameter(end)}`, key, isBackward, end + 1)
      : statement(from, key, isBackward, end);
  };
  const texts = { forward: directed(false), backward: directed(true) };
  return {
    key,
    texts,
    prepared: (db) => directedLister(key, statementRunner<Row, keyof typeof texts>(db, texts), isBounded),
  };
}

/** The bounds of a list without an end. */
export const EVERYWHERE: Span = { first: 0, last: Number.MAX_SAFE_INTEGER };

/** Bounds of the first column of a key, which are included: numbers, or texts. */
type Bounds = Span | { first: string; last: string };

/** Rows of a list, read at once. */
export interface ListedRows<Row> extends RowSource<Row> {
  rows(key: CursorKey | null, isBackward: boolean, count: number): Row[];
}

type RunStatement<Row, Name extends string> = (name: Name, ...values: Value[]) => Row[];

/** Makes a function that runs the statements of a list. Each is prepared at its first use. */
function statementRunner<Row, Name extends string>(
  db: Database,
  texts: Readonly<Record<Name, string>>,
): RunStatement<Row, Name> {
  const statements = Object.fromEntries(
    Object.entries<string>(texts).map(([name, text]) => [name, lazy(() => prepared<Row, Value[]>(db, text))]),
  );
  return (name, ...values) => statements[name]!().all(...values);
}

function keyReader<Row>(key: readonly KeyColumn[]): (row: Row) => CursorKey {
  const names = key.map(nameOf);
  return (row) =>
    names.map((name) => {
      const value = (row as Record<string, string | number | Uint8Array>)[name]!;
      return value instanceof Uint8Array ? value.toHex() : value;
    });
}

const unboundedError = (): Error => new Error('bounds for a list that was declared without them');

type SplitStatement = 'head' | 'equal' | 'beyond' | 'equalBackward' | 'above';

/** Reads the rows with the key's first value, then the rows beyond it. */
function splitLister<Row>(key: readonly KeyColumn[], run: RunStatement<Row, SplitStatement>): Lister<Row> {
  const keyOf = keyReader<Row>(key);
  return (parameters, span) => {
    if (span !== undefined) throw unboundedError();
    return {
      rows(cursorKey, isBackward, count) {
        if (cursorKey === null) return run('head', ...parameters, count);
        const [value, second] = key.map(({ form }, index) => forms[form].read(cursorKey, index)) as [Value, Value];
        const equal = run(isBackward ? 'equalBackward' : 'equal', ...parameters, value, second, count);
        if (equal.length >= count) return equal;
        return [...equal, ...run(isBackward ? 'above' : 'beyond', ...parameters, value, count - equal.length)];
      },
      keyOf,
    };
  };
}

function directedLister<Row>(
  key: readonly KeyColumn[],
  run: RunStatement<Row, 'forward' | 'backward'>,
  isBounded: boolean,
): Lister<Row> {
  const keyOf = keyReader<Row>(key);

  /** Returns the values to read from: the cursor key's, or the nearest bound's if the key is outside the bounds. */
  function startAt(cursorKey: CursorKey | null, isBackward: boolean, { first, last }: Bounds): Value[] {
    const values: Value[] = key.map(({ form, descends }, index) =>
      cursorKey === null
        ? forms[form][descends === isBackward ? 'least' : 'greatest']
        : forms[form].read(cursorKey, index),
    );
    if (!isBounded) return values;
    const isDown = key[0]!.descends !== isBackward;
    const start = values[0] as number | string;
    const isOutside = isDown ? start > last : start < first;
    if (!isOutside) return values;
    return [isDown ? last : first, ...key.slice(1).map(({ form }) => forms[form][isDown ? 'greatest' : 'least'])];
  }

  return (parameters, span = EVERYWHERE) => {
    if (!isBounded && span !== EVERYWHERE) throw unboundedError();
    return {
      rows(cursorKey, isBackward, count) {
        const start = startAt(cursorKey, isBackward, span);
        const end = isBounded ? [key[0]!.descends === isBackward ? span.last : span.first] : [];
        return run(isBackward ? 'backward' : 'forward', ...parameters, ...start, ...end, count);
      },
      keyOf,
    };
  };
}

/** Reverses the order of a list. */
export const reversed = <Row>({ rows, keyOf }: RowSource<Row>): RowSource<Row> => ({
  rows: (key, isBackward, count) => rows(key, !isBackward, count),
  keyOf,
});

/** Rows in a batch of a walk. */
const BATCH = 256;

/** Reads a list in batches that grow, until the caller has enough rows. No statement stays open between two batches. */
export const walked = <Row>({ rows, keyOf }: ListedRows<Row>): RowSource<Row> => ({
  *rows(key, isBackward, count) {
    let from = key;
    for (let batchSize = Math.min(count, BATCH); ; batchSize = Math.min(2 * batchSize, BATCH)) {
      // A later batch begins with the last row of the one before.
      const overlap = from === key ? 0 : 1;
      const batch = rows(from, isBackward, batchSize + overlap);
      yield* batch.slice(overlap);
      const last = batch.at(-1);
      if (last === undefined || batch.length < batchSize + overlap) return;
      from = keyOf(last);
    }
  },
  keyOf,
});

/**
 * Merges lists in the same order. A row of several lists is listed once.
 * @param compare compares rows in the order of the lists
 * @param count rows in the first batch of each list
 */
export function* merged<Row>(
  lists: readonly ListedRows<Row>[],
  compare: (a: Row, b: Row) => number,
  key: CursorKey | null,
  isBackward: boolean,
  count: number,
): Generator<Row> {
  type Others = Iterator<Row | undefined>;
  /** The next row of each list; the first in order is at the end. */
  const heads: { row: Row; others: Others }[] = [];
  function put(others: Others): void {
    const row = others.next().value;
    if (row === undefined) return;
    let [low, high] = [0, heads.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compare(row, heads[middle]!.row) < 0 !== isBackward) low = middle + 1;
      else high = middle;
    }
    heads.splice(low, 0, { row, others });
  }
  for (const list of lists) put(walked(list).rows(key, isBackward, count)[Symbol.iterator]());
  let last: Row | undefined;
  for (let next = heads.pop(); next !== undefined; next = heads.pop()) {
    if (last === undefined || compare(last, next.row) !== 0) yield next.row;
    last = next.row;
    put(next.others);
  }
}

/** Makes a list of rows that are in memory, in their order. @param compare compares a row's key with the key of a cursor */
export const sortedRows = <Row>(
  all: readonly Row[],
  keyOf: (row: Row) => CursorKey,
  compare: (a: CursorKey, b: CursorKey) => number,
): ListedRows<Row> => ({
  rows: (key, isBackward, count) =>
    (isBackward ? all.toReversed() : all)
      .filter((row) => key === null || compare(keyOf(row), key) * (isBackward ? -1 : 1) >= 0)
      .slice(0, count),
  keyOf,
});
