/**
 * Lists that are walked by cursor, offset, or both, with the cursors beside the items. Their cursors are plain values,
 * and `next` is the newer page, `prev` the older one: the opposite of {@link CursorPage}.
 */
import { type TSchema, Type } from '@sinclair/typebox';
import type { ChainPage, ChainStart } from '../store/model/page.ts';
import { notFound } from './errors.ts';
import { limitOrDefault } from './offset-pagination.ts';

interface FlatQuery<C extends TSchema> {
  /** Largest and default `limit`. */
  maximum: number;
  default: number;
  /** The farthest a page may start from its cursor. */
  reach: number;
  cursor: C;
}

/** The query of such a list: `limit`, `offset` and `cursor`. */
export const flatQuery = <C extends TSchema>({ maximum, default: usual, reach, cursor }: FlatQuery<C>) => ({
  limit: limitOrDefault({ maximum, default: usual }),
  offset: Type.Integer({
    minimum: 0,
    maximum: reach,
    default: 0,
    description: 'Number of items to skip after the cursor, or after the newest item without one',
  }),
  cursor: Type.Optional(cursor),
});

const cursor = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

/** The schema of a page. @param item schema of one item */
export const FlatPage = <T extends TSchema>(item: T) =>
  Type.Object({
    limit: Type.Integer(),
    offset: Type.Integer(),
    total: Type.Integer({ description: 'Number of items in the whole list' }),
    next_cursor: cursor('Cursor of the newer page; null on the newest page'),
    prev_cursor: cursor('Cursor of the older page; null on the oldest page'),
    cursor: cursor('Cursor of this page; null if it is empty'),
    results: Type.Array(item),
  });

/** What a 404 of such a list means. */
export const NO_CURSOR = 'Cursor not found';

/** Where a page starts, by the query: the cursor, or the newest item, and the offset from there. */
export const flatStart = <Key>({ cursor, offset }: { cursor?: Key; offset: number }): ChainStart<Key> => ({
  at: cursor ?? null,
  offset,
});

/** @throws ApiError where the cursor, or the offset from it, led to no item */
export function flatPage<T, Key, R>(
  { limit, offset }: { limit: number; offset: number },
  page: ChainPage<T, Key> | undefined,
  cursorText: (key: Key) => string,
  item: (of: T) => R,
) {
  if (page === undefined) throw notFound(NO_CURSOR);
  const text = (key: Key | null) => (key === null ? null : cursorText(key));
  return {
    limit,
    offset,
    total: page.total,
    next_cursor: text(page.newer),
    prev_cursor: text(page.older),
    cursor: text(page.current),
    results: page.items.map(item),
  };
}
