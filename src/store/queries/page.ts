/** Keyset pagination: a page is found by a key in the list's order, at the same cost anywhere in the list. */
import type { Pause } from '../../base/turns.ts';
import { type Cursor, type CursorKey, type CursorSide, HEAD, type Page } from '../model/page.ts';
import { UnreadableCursorError } from '../model/read-errors.ts';

/** Finds the rows of a list by keys, whether or not a row has the key. */
export interface PageSource<Row, Item, Total extends number | null = number> {
  limit: number;
  /** The page to read; null for the first. */
  at: Cursor | null;
  total: Total;
  /** Returns up to `count` rows in list order, from the key on (inclusive), or from the head. */
  rowsFrom(key: CursorKey | null, count: number): Row[];
  /** Returns up to `count` rows before the key, in reverse order. */
  rowsBefore(key: CursorKey, count: number): Row[];
  keyOf(row: Row): CursorKey;
  itemOf(row: Row): Item;
}

/** The side that reads from the same position in the other direction. */
const turned: Readonly<Record<CursorSide, CursorSide>> = {
  from: 'before',
  before: 'from',
  after: 'until',
  until: 'after',
};

/** Whether a page reads towards the head of its list. */
const isBackwards = ({ side }: Cursor): boolean => side === 'before' || side === 'until';

/** Whether a cursor's position is behind the item of its key, and not in front of it. */
export const isBehind = ({ side }: Cursor): boolean => side === 'after' || side === 'until';

/** The cursor in front of a key's item that reads in the direction of another cursor. */
export const movedTo = (key: CursorKey, like: Cursor | null): Cursor => ({
  side: like !== null && isBackwards(like) ? 'before' : 'from',
  key,
});

const isSame = (a: CursorKey, b: CursorKey): boolean =>
  a.length === b.length && a.every((part, index) => part === b[index]);

/** @throws UnreadableCursorError where a cursor's key has other parts than the keys of the list */
function requireForm(key: CursorKey, like: CursorKey): void {
  if (key.length === like.length && key.every((part, index) => typeof part === typeof like[index])) return;
  throw new UnreadableCursorError(`the cursor's key doesn't have the ${like.length} parts of a key of this list`);
}

/** A PageSource whose rows take long to find. */
interface LongPageSource<Row, Item, Total extends number | null = number>
  extends Omit<PageSource<Row, Item, Total>, 'rowsFrom' | 'rowsBefore'> {
  rowsFrom(key: CursorKey | null, count: number): Promise<Row[]>;
  rowsBefore(key: CursorKey, count: number): Promise<Row[]>;
}

/**
 * The same list the other way round, by the same queries.
 * @param end a key behind all items of the list
 */
export const reversed = <Row, Item, Total extends number | null>(
  source: PageSource<Row, Item, Total>,
  end: CursorKey,
): PageSource<Row, Item, Total> => ({
  ...source,
  rowsFrom(key, count) {
    if (key === null) return source.rowsBefore(end, count);
    const own = source.rowsFrom(key, 1).filter((row) => isSame(source.keyOf(row), key));
    return [...own, ...source.rowsBefore(key, count - own.length)];
  },
  rowsBefore: (key, count) =>
    source
      .rowsFrom(key, count + 1)
      .filter((row) => !isSame(source.keyOf(row), key))
      .slice(0, count),
});

/** Makes a page: yields queries for rows one after the other, and receives their rows. */
type Asking<Row, Made> = Generator<Row[] | Promise<Row[]>, Made, Row[]>;
type AnySource<Row, Item, Total extends number | null> =
  | PageSource<Row, Item, Total>
  | LongPageSource<Row, Item, Total>;

/** Returns up to `count` rows, the nearest to the cursor first. */
function* rowsAt<Row>(
  { rowsFrom, rowsBefore, keyOf }: Pick<AnySource<Row, unknown, null>, 'rowsFrom' | 'rowsBefore' | 'keyOf'>,
  { side, key }: Cursor,
  count: number,
): Asking<Row, Row[]> {
  if (key.length === 0) return side === 'from' ? yield rowsFrom(null, count) : [];
  const isAtKey = (row: Row): boolean => isSame(keyOf(row), key);
  switch (side) {
    case 'from':
      return yield rowsFrom(key, count);
    case 'after': {
      const rows = yield rowsFrom(key, count + 1);
      return rows.filter((row) => !isAtKey(row)).slice(0, count);
    }
    case 'before':
      return yield rowsBefore(key, count);
    case 'until': {
      const at = yield rowsFrom(key, 1);
      const own = at.filter(isAtKey);
      return [...own, ...(yield rowsBefore(key, count - own.length))];
    }
  }
}

/**
 * Reads the page that a cursor names. A page that reads backwards is short at the head of the list: it is never filled up
 * with items behind its cursor, which belong to another page. A page without items still has cursors of its neighbours.
 * @throws UnreadableCursorError where the cursor's key can't be a key of this list
 */
export function keysetPage<Row, Item, Total extends number | null = number>(
  source: PageSource<Row, Item, Total>,
): Page<Item, Total> {
  const asking = pageOf(source);
  let asked = asking.next();
  while (asked.done !== true) asked = asking.next(asked.value as Row[]);
  return asked.value;
}

/** Reads the page that a cursor names, as {@link keysetPage}, from a list whose rows take long to find. */
export async function longKeysetPage<Row, Item, Total extends number | null = number>(
  source: LongPageSource<Row, Item, Total>,
): Promise<Page<Item, Total>> {
  const asking = pageOf(source);
  let asked = asking.next();
  while (asked.done !== true) asked = asking.next(await asked.value);
  return asked.value;
}

function* pageOf<Row, Item, Total extends number | null>(
  source: AnySource<Row, Item, Total>,
): Asking<Row, Page<Item, Total>> {
  const { limit, keyOf } = source;
  const at = source.at ?? HEAD;
  const rows = yield* rowsAt(source, at, limit + 1);
  const isMore = rows.length > limit;
  if (isMore) rows.pop();
  const back: Cursor = { side: turned[at.side], key: at.key };
  const [turning] = yield* rowsAt(source, back, 1);
  const isTurnable = turning !== undefined;
  const any = rows[0] ?? turning;
  if (any !== undefined && at.key.length > 0) requireForm(at.key, keyOf(any));
  const [isFollowed, isPreceded] = isBackwards(at) ? [isTurnable, isMore] : [isMore, isTurnable];
  if (isBackwards(at)) rows.reverse();

  const [first, last] = [rows[0], rows.at(-1)];
  const next: Cursor = last === undefined ? back : { side: 'after', key: keyOf(last) };
  const previous: Cursor = first === undefined ? back : { side: 'before', key: keyOf(first) };
  return {
    items: rows.map(source.itemOf),
    total: source.total,
    // New items may be added before the first page, so its cursor names its present first item.
    current: at.key.length === 0 && first !== undefined ? { side: 'from', key: keyOf(first) } : at,
    next: isFollowed ? next : null,
    previous: isPreceded ? previous : null,
  };
}

/** Rows that a page of a filtered list reads at most. */
export const MOST_FILTERED_ROWS = 10_000;

/** A list of the rows that meet conditions, which are found among others. */
interface FilteredSource<Row, Item>
  extends Pick<PageSource<Row, Item, number | null>, 'limit' | 'at' | 'total' | 'keyOf' | 'itemOf'> {
  /** Rows that a page reads at most; as many to learn whether there is a page on its other side. */
  mostRows: number;
  /**
   * Rows in list order from the key on (inclusive), or from the head; in reverse order if it reads backwards.
   * @param count rows that are enough if all meet the conditions
   */
  rows(key: CursorKey | null, isBackwards: boolean, count: number): Iterable<Row>;
  meets(row: Row): boolean;
  /** The number of rows that one counts as (default: 1). */
  costOf?(row: Row): number;
}

/** Rows that meet the conditions, and the key at which the reading stopped before it had seen all. */
interface Found<Row> {
  rows: Row[];
  stopped: CursorKey | null;
}

/**
 * Reads the page that a cursor names of a list of rows that meet conditions. It reads a bounded number of rows: a page may have
 * fewer items than its limit, or none, and a next page all the same.
 */
export function filteredPage<Row, Item>(source: FilteredSource<Row, Item>): Page<Item, number | null> {
  const reading = filteredPageOf(source);
  let step = reading.next();
  while (step.done !== true) step = reading.next();
  return step.value;
}

/** Reads a page as {@link filteredPage}, of a list whose rows take long to judge: other work has its turn between them. */
export async function longFilteredPage<Row, Item>(
  source: FilteredSource<Row, Item>,
  pause: Pause,
): Promise<Page<Item, number | null>> {
  const reading = filteredPageOf(source);
  let step = reading.next();
  while (step.done !== true) {
    await pause();
    step = reading.next();
  }
  return step.value;
}

/** Makes a page, and yields after each row that it has read. */
function* filteredPageOf<Row, Item>(
  source: FilteredSource<Row, Item>,
): Generator<undefined, Page<Item, number | null>> {
  const { limit, mostRows, keyOf } = source;
  const at = source.at ?? HEAD;

  /** Up to `count` rows from a side of a key. */
  function* found({ side, key }: Cursor, count: number): Generator<undefined, Found<Row>> {
    const isExclusive = side === 'after' || side === 'before';
    const rows: Row[] = [];
    let read = 0;
    const enough = count + (isExclusive ? 1 : 0);
    for (const row of source.rows(key.length === 0 ? null : key, isBackwards({ side, key }), enough)) {
      if (isExclusive && isSame(keyOf(row), key)) continue;
      if (read >= mostRows) return { rows, stopped: keyOf(row) };
      if (source.meets(row)) rows.push(row);
      read += source.costOf?.(row) ?? 1;
      if (rows.length === count) break;
      yield;
    }
    return { rows, stopped: null };
  }

  const backwards = isBackwards(at);
  const { rows, stopped } = yield* found(at, limit + 1);
  const isMore = rows.length > limit;
  if (isMore) rows.pop();
  const back: Cursor = { side: turned[at.side], key: at.key };
  const behind = at.key.length === 0 ? null : yield* found(back, 1);
  const isTurnable = behind !== null && (behind.rows.length > 0 || behind.stopped !== null);
  if (backwards) rows.reverse();

  const [first, last] = [rows[0], rows.at(-1)];
  const next: Cursor = last === undefined ? back : { side: 'after', key: keyOf(last) };
  const previous: Cursor = first === undefined ? back : { side: 'before', key: keyOf(first) };
  const stop: Cursor | null = stopped === null ? null : { side: backwards ? 'until' : 'from', key: stopped };
  const ahead = isMore ? (backwards ? previous : next) : stop;
  const behindIt = isTurnable ? (backwards ? next : previous) : null;
  return {
    items: rows.map(source.itemOf),
    total: source.total,
    current: at.key.length === 0 && first !== undefined ? { side: 'from', key: keyOf(first) } : at,
    next: backwards ? behindIt : ahead,
    previous: backwards ? ahead : behindIt,
  };
}

/** The empty page for an offset behind the end of a list. */
export const pageBeyond = <Item>(total: number): Page<Item> => ({
  items: [],
  total,
  current: HEAD,
  next: null,
  previous: null,
});

/**
 * Rows with the first part of the key and, if they are too few, rows beyond it. For lists whose key has parts in opposite
 * orders, so that no single comparison finds both.
 */
export function equalThenBeyond<Row>(
  count: number,
  equal: (count: number) => Row[],
  beyond: (count: number) => Row[],
): Row[] {
  const rows = equal(count);
  return rows.length < count ? [...rows, ...beyond(count - rows.length)] : rows;
}

/** The n-th part of a key as text. @throws UnreadableCursorError where it is not text */
export function textAt(key: CursorKey, index: number): string {
  const part = key[index];
  if (typeof part === 'string') return part;
  throw new UnreadableCursorError(`part ${index} of the cursor's key is not a text`);
}

/** The n-th part of a key as a number. @throws UnreadableCursorError where it is not a number */
export function numberAt(key: CursorKey, index: number): number {
  const part = key[index];
  if (typeof part === 'number') return part;
  throw new UnreadableCursorError(`part ${index} of the cursor's key is not a number`);
}

/** The n-th part of a key, which is hex, as bytes. @throws UnreadableCursorError where it is not hex */
export function bytesAt(key: CursorKey, index: number): Uint8Array {
  const hex = textAt(key, index);
  if (/^([0-9a-f]{2})*$/.test(hex)) return Uint8Array.fromHex(hex);
  throw new UnreadableCursorError(`part ${index} of the cursor's key is not the hex of bytes`);
}
