/** Pages of lists, and the keys they begin at. */

/** The key of an item in its list's order. Opaque outside the query that made it. */
export type CursorKey = readonly (number | string)[];

/**
 * A page of a list. `current` is the key of the first item, `next` of the item after the page, `previous` of the one
 * `limit` places before it, or of the first of the list where there are fewer; null where there is none.
 */
export interface Page<T> {
  items: T[];
  /** Items in the whole list. */
  total: number;
  current: CursorKey | null;
  next: CursorKey | null;
  previous: CursorKey | null;
}

/** A part of a list that is found by how many items stand before it. */
export interface OffsetPage<T> {
  items: T[];
  /** Items in the whole list. */
  total: number;
}

/**
 * A page of a list with its newest item first, by keys that say where in the chain an item stands. `older` is the key of
 * the item after the page, `newer` of the one `limit` places before it, or of the newest where there are fewer.
 */
export interface ChainPage<T, Key> extends OffsetPage<T> {
  /** Key of the first item; null where there is none. */
  current: Key | null;
  older: Key | null;
  newer: Key | null;
}

/** Where a page of such a list starts: so many places behind an item. */
export interface ChainStart<Key> {
  /** Null for the newest item. */
  at: Key | null;
  offset: number;
}
