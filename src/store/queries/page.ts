/** Keyset pagination: a page is found by a key in the list's order, at the same cost anywhere in the list. */
import type { Pause } from '../../base/turns.ts';
import { type Cursor, type CursorKey, type CursorSide, HEAD, type OffsetPage, type Page } from '../model/page.ts';
import { UnreadableCursorError } from '../model/read-errors.ts';

/** Rows of a list in its order. */
export interface RowSource<Row> {
  /**
   * Returns rows from a key on, which is included; without a key, from the head of the list. Backward, the rows are in reverse
   * order, and without a key they start at the end of the list.
   * @param count number of rows that are enough if all belong to the list
   * @returns the rows, and undefined when other work may have its turn
   */
  rows(key: CursorKey | null, isBackward: boolean, count: number): Iterable<Row | undefined>;
  keyOf(row: Row): CursorKey;
}

export interface PageSource<Row, Item, Total extends number | null = number> extends RowSource<Row> {
  limit: number;
  /** The page to read; null for the first. */
  cursor: Cursor | null;
  total: Total;
  itemOf(row: Row): Item;
  /** Whether a row belongs to the list (default: every row does). */
  meets?(row: Row): boolean;
  /** Maximum number of rows to read for a page, and again to find the page on its other side (default: any number). */
  maxRows?: number;
  /** What a row adds to the number of read rows (default: 1). */
  costOf?(row: Row): number;
}

/** The side that reads from the same position in the other direction. */
const opposites: Readonly<Record<CursorSide, CursorSide>> = {
  from: 'before',
  before: 'from',
  after: 'until',
  until: 'after',
};

/** Whether a page reads towards the head of its list. */
const isBackwards = ({ side }: Cursor): boolean => side === 'before' || side === 'until';

/** Whether a cursor's position is behind the item of its key, and not in front of it. */
export const isBehind = ({ side }: Cursor): boolean => side === 'after' || side === 'until';

/** Returns the cursor in front of a key's item. It reads in the direction of another cursor. */
export const movedTo = (key: CursorKey, cursor: Cursor | null): Cursor => ({
  side: cursor !== null && isBackwards(cursor) ? 'before' : 'from',
  key,
});

const isSame = (a: CursorKey, b: CursorKey): boolean =>
  a.length === b.length && a.every((part, index) => part === b[index]);

/** @throws UnreadableCursorError if a cursor's key has other parts than the keys of the list */
function requireForm(key: CursorKey, rowKey: CursorKey): void {
  if (key.length === rowKey.length && key.every((part, index) => typeof part === typeof rowKey[index])) return;
  throw new UnreadableCursorError(`the cursor's key doesn't have the ${rowKey.length} parts of a key of this list`);
}

/**
 * Reads the page that a cursor names. A page that reads backwards is short at the head of the list: it is never filled up
 * with items behind its cursor, which belong to another page. A page without items still has cursors of its neighbours.
 *
 * If a page reads `maxRows` rows, it may have fewer items than its limit, or none, and still have a next page.
 * @throws UnreadableCursorError if the cursor's key can't be a key of this list
 */
export function readPage<Row, Item, Total extends number | null = number>(
  source: PageSource<Row, Item, Total>,
): Page<Item, Total> {
  const cursor = source.cursor ?? HEAD;
  return pageOf(source, readNow(source, cursor, source.limit + 1), readNow(source, turnedAround(cursor), 1));
}

/** Reads a page like {@link readPage} from a list whose rows are slow to check. Other work gets turns between rows. */
export async function readLongPage<Row, Item, Total extends number | null = number>(
  source: PageSource<Row, Item, Total>,
  pause: Pause,
): Promise<Page<Item, Total>> {
  async function readLater(cursor: Cursor, count: number): Promise<RowBatch<Row>> {
    const reading = readBatch(source, cursor, count);
    let step = reading.next();
    while (step.done !== true) {
      await pause();
      step = reading.next();
    }
    return step.value;
  }

  const cursor = source.cursor ?? HEAD;
  return pageOf(source, await readLater(cursor, source.limit + 1), await readLater(turnedAround(cursor), 1));
}

/** Maximum number of rows that a page with conditions reads. */
export const MAX_FILTERED_ROWS = 10_000;

/** Rows of a list, and the key where reading stopped early; null if it didn't. */
interface RowBatch<Row> {
  rows: Row[];
  stopped: CursorKey | null;
}

/** The cursor at the same position that reads in the other direction. */
const turnedAround = ({ side, key }: Cursor): Cursor => ({ side: opposites[side], key });

/** Whether a cursor excludes the item of its key. */
const isExclusive = ({ side }: Cursor): boolean => side === 'after' || side === 'before';

/** Reads up to `count` rows from a side of a key. Yields after each row, and where the list itself pauses. */
function* readBatch<Row>(
  { rows: list, keyOf, meets, costOf, maxRows = Number.POSITIVE_INFINITY }: PageSource<Row, unknown, number | null>,
  cursor: Cursor,
  count: number,
): Generator<undefined, RowBatch<Row>> {
  const { side, key } = cursor;
  const rows: Row[] = [];
  // Nothing is before the head.
  if (key.length === 0 && side !== 'from') return { rows, stopped: null };
  let read = 0;
  const enough = count + (isExclusive(cursor) ? 1 : 0);
  for (const row of list(key.length === 0 ? null : key, isBackwards(cursor), enough)) {
    if (row === undefined) {
      yield;
      continue;
    }
    if (isExclusive(cursor) && isSame(keyOf(row), key)) continue;
    if (read >= maxRows) return { rows, stopped: keyOf(row) };
    if (meets?.(row) ?? true) rows.push(row);
    read += costOf?.(row) ?? 1;
    if (rows.length === count) break;
    yield;
  }
  return { rows, stopped: null };
}

/** Reads rows like {@link readBatch}, without pauses. */
function readNow<Row>(source: PageSource<Row, unknown, number | null>, cursor: Cursor, count: number): RowBatch<Row> {
  const { rows, maxRows, meets, costOf } = source;
  const { side, key } = cursor;
  if (key.length === 0 && side !== 'from') return { rows: [], stopped: null };
  // Most lists leave no row out. Reading all rows at once is faster than a walk.
  if (!isExclusive(cursor) && maxRows === undefined && meets === undefined && costOf === undefined) {
    const all = rows(key.length === 0 ? null : key, isBackwards(cursor), count);
    if (Array.isArray(all)) return { rows: all.slice(0, count), stopped: null };
  }
  const reading = readBatch(source, cursor, count);
  for (;;) {
    const step = reading.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Makes a page from its rows, which include one more row if there is a next page.
 * @param otherSide the row on the other side of the page's cursor, if there is one
 */
function pageOf<Row, Item, Total extends number | null>(
  source: PageSource<Row, Item, Total>,
  { rows, stopped }: RowBatch<Row>,
  otherSide: RowBatch<Row>,
): Page<Item, Total> {
  const { limit, keyOf } = source;
  const cursor = source.cursor ?? HEAD;
  const back = turnedAround(cursor);
  const backwards = isBackwards(cursor);
  const isMore = rows.length > limit;
  if (isMore) rows.pop();
  const hasOtherSide = otherSide.rows.length > 0 || otherSide.stopped !== null;
  const sampleRow = rows[0] ?? otherSide.rows[0];
  if (sampleRow !== undefined && cursor.key.length > 0) requireForm(cursor.key, keyOf(sampleRow));
  if (backwards) rows.reverse();

  const [first, last] = [rows[0], rows.at(-1)];
  const next: Cursor = last === undefined ? back : { side: 'after', key: keyOf(last) };
  const previous: Cursor = first === undefined ? back : { side: 'before', key: keyOf(first) };
  const stop: Cursor | null = stopped === null ? null : { side: backwards ? 'until' : 'from', key: stopped };
  const onward = backwards ? previous : next;
  const ahead = isMore ? onward : stop;
  const opposite = backwards ? next : previous;
  const behind = hasOtherSide ? opposite : null;
  return {
    items: rows.map(source.itemOf),
    total: source.total,
    // New items may be added before the first page, so its cursor names its present first item.
    current: cursor.key.length === 0 && first !== undefined ? { side: 'from', key: keyOf(first) } : cursor,
    next: backwards ? behind : ahead,
    previous: backwards ? ahead : behind,
  };
}

/** Makes a page without items. @param cursor the requested page; null for the first, or for an offset behind the end of the list */
export const emptyPage = <T extends number | null>(total: T, cursor: Cursor | null = null): Page<never, T> => ({
  items: [],
  total,
  current: cursor ?? HEAD,
  next: null,
  previous: null,
});

/** Reads a page of a list whose rows are numbered from 1 without gaps, the last row first. @param total the last number */
export const numberedPage = <Row>(
  total: number,
  limit: number,
  offset: number,
  rows: (first: number, last: number) => Row[],
): OffsetPage<Row> => ({ items: rows(total - offset - limit + 1, total - offset), total });

/** Returns a part of a key. @throws UnreadableCursorError if it isn't text */
export function textAt(key: CursorKey, index: number): string {
  const part = key[index];
  if (typeof part === 'string') return part;
  throw new UnreadableCursorError(`part ${index} of the cursor's key is not a text`);
}

/** Returns a part of a key. @throws UnreadableCursorError if it isn't a number */
export function numberAt(key: CursorKey, index: number): number {
  const part = key[index];
  if (typeof part === 'number') return part;
  throw new UnreadableCursorError(`part ${index} of the cursor's key is not a number`);
}

/** Decodes a part of a key. @throws UnreadableCursorError if it isn't the hex of bytes */
export function bytesAt(key: CursorKey, index: number): Uint8Array {
  const hex = textAt(key, index);
  if (/^([0-9a-f]{2})*$/.test(hex)) return Uint8Array.fromHex(hex);
  throw new UnreadableCursorError(`part ${index} of the cursor's key is not the hex of bytes`);
}
