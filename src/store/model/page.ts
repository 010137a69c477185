/** Pages of lists, and the cursors that name them. */

/** The key of an item in its list's order. Opaque outside the query that made it. */
export type CursorKey = readonly (number | string)[];

/**
 * The side of a key that a page shows: from the key on, after it, before it, or up to it. `from` and `until` include the
 * key's own item.
 */
export const cursorSides = ['from', 'after', 'before', 'until'] as const;
export type CursorSide = (typeof cursorSides)[number];

/**
 * Identifies a page: a position in the order of a list, and the direction of the page. The position stays valid
 * when its item is removed and when items around it change, so that consecutive pages share no item and skip none.
 */
export interface Cursor {
  readonly side: CursorSide;
  /** Empty for the head of the list, which only the side `from` has. */
  readonly key: CursorKey;
}

/** The first page of the list as it is when it is read. */
export const HEAD: Cursor = { side: 'from', key: [] };

/** A page of a list. @template Total null for a list that isn't counted */
export interface Page<T, Total extends number | null = number> {
  items: T[];
  /** Number of items in the whole list. */
  total: Total;
  current: Cursor;
  /** The page after this one; null if there are no items. */
  next: Cursor | null;
  /** The page before this one; null if there are no items. */
  previous: Cursor | null;
}

/** The order of a list of the chain: newest or oldest first. */
export type ListOrder = 'desc' | 'asc';

/** A part of a list that begins after a number of items. */
export interface OffsetPage<T> {
  items: T[];
  /** Number of items in the whole list. */
  total: number;
}

/** Start of a page in a list with an offset: at the head if neither cursor nor item is given. */
export interface OffsetStart<Name> {
  cursor: Cursor | null;
  /** The client's own name of the first item; the cursor is null then. */
  item: Name | null;
  /** Number of items to skip from there. */
  offset: number;
}
