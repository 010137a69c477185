/** Pages of lists, and the cursors that name them. */

/** The key of an item in its list's order. Opaque outside the query that made it. */
export type CursorKey = readonly (number | string)[];

/**
 * What a page shows, as seen from a key: the items from the key on, those after it, those before it, or those up to it.
 * The key's own item belongs to the first and the last.
 */
export const cursorSides = ['from', 'after', 'before', 'until'] as const;
export type CursorSide = (typeof cursorSides)[number];

/**
 * The name of a page: a place in the order of a list, and the direction the page reads in. The place remains where the
 * item of the key is gone and where items come or go around it, so that pages that follow each other share no item and
 * leave none out.
 */
export interface Cursor {
  readonly side: CursorSide;
  /** Empty for the head of the list, which only `from` is said of. */
  readonly key: CursorKey;
}

/** The first page, whatever the list holds when it is asked for. */
export const HEAD: Cursor = { side: 'from', key: [] };

/** A page of a list. @template Total null for a list that isn't counted */
export interface Page<T, Total extends number | null = number> {
  items: T[];
  /** Items in the whole list. */
  total: Total;
  current: Cursor;
  /** The page behind this one; null where no item is there. */
  next: Cursor | null;
  /** The page in front of this one; null where no item is there. */
  previous: Cursor | null;
}

/** A part of a list that is found by how many items are before it. */
export interface OffsetPage<T> {
  items: T[];
  /** Items in the whole list. */
  total: number;
}

/** Where a page of a list starts that takes an offset beside the cursor: at the head if neither cursor nor item is given. */
export interface OffsetStart<Name> {
  cursor: Cursor | null;
  /** What the client itself calls the item that the page starts with; there is no cursor then. */
  item: Name | null;
  /** Items to pass over from there. */
  offset: number;
}
