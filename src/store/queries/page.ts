/** Keyset pagination: a page is found by the key of its first item, at the same cost wherever it is. */
import type { CursorKey, Page } from '../model/page.ts';

/** `Key` is what of a row its key is made of. */
export interface PageSource<Row extends Key, Item, Key = Row> {
  limit: number;
  /** The key the page starts at; null for the head of the list. */
  from: CursorKey | null;
  total: number;
  /** Returns up to `count` rows in list order, from the key on (and with it), or from the head. */
  rowsFrom(key: CursorKey | null, count: number): Row[];
  /** Returns up to `count` rows in reverse order that stand before the key. */
  rowsBefore(key: CursorKey, count: number): Key[];
  keyOf(row: Key): CursorKey;
  itemOf(row: Row): Item;
}

/** A key whose item is gone starts the page at the next one in list order. */
export function keysetPage<Row extends Key, Item, Key = Row>(source: PageSource<Row, Item, Key>): Page<Item> {
  const { limit, from, keyOf } = source;
  const rows = source.rowsFrom(from, limit + 1);
  const after = rows.length > limit ? rows.pop() : undefined;
  const first = rows[0];
  // Without a key the page is the head of the list: nothing can stand before it in the same snapshot.
  const before = from === null || first === undefined ? undefined : source.rowsBefore(keyOf(first), limit).at(-1);
  return {
    items: rows.map(source.itemOf),
    total: source.total,
    current: first === undefined ? null : keyOf(first),
    next: after === undefined ? null : keyOf(after),
    previous: before === undefined ? null : keyOf(before),
  };
}

/**
 * Rows with the first part of the key, and if those are too few, rows beyond it: where the parts of a key are ordered in
 * opposite directions, no one comparison finds both.
 */
export function equalThenBeyond<Row>(
  count: number,
  equal: (count: number) => Row[],
  beyond: (count: number) => Row[],
): Row[] {
  const rows = equal(count);
  return rows.length < count ? [...rows, ...beyond(count - rows.length)] : rows;
}

/** The n-th part of a key as text; empty where the key is not one of this list. */
export const textAt = (key: CursorKey, index: number): string => {
  const part = key[index];
  return typeof part === 'string' ? part : '';
};

/** The n-th part of a key as a number; NaN, which compares with nothing, where the key is not one of this list. */
export const numberAt = (key: CursorKey, index: number): number => {
  const part = key[index];
  return typeof part === 'number' ? part : Number.NaN;
};

/** The n-th part of a key as bytes, from the hex it holds. */
export const bytesAt = (key: CursorKey, index: number): Uint8Array => {
  const part = key[index];
  return typeof part === 'string' && /^([0-9a-f]{2})*$/.test(part) ? Uint8Array.fromHex(part) : new Uint8Array(0);
};
