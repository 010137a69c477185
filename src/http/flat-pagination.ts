/**
 * Lists that are walked by cursor, offset, or both, with the cursors beside the items. Their `next` is the newer page,
 * `prev` the older one: the opposite of {@link CursorPage}.
 */
import { type TSchema, Type } from '@sinclair/typebox';
import type { OffsetStart, Page } from '../store/model/page.ts';
import { encodeCursor } from './cursor.ts';
import { notFound } from './errors.ts';
import { serializedLate } from './json.ts';
import { limitOrDefault } from './offset-pagination.ts';
import { CURSOR_TEXT, listOf, MAX_CURSOR, neighbour, neighbourText, pageCursor } from './pagination.ts';

/** A text that clients put together themselves and give as cursor: the name of the item that a page starts with. */
export interface ItemName<Name> {
  /** A regular expression for the whole text. */
  pattern: string;
  description: string;
  read(text: string): Name;
}

/** The query parameter `cursor` of such a list. */
export const flatCursor = ({ pattern, description }: ItemName<unknown>) =>
  Type.Optional(
    Type.String({
      pattern: `^(${CURSOR_TEXT}|${pattern})$`,
      maxLength: MAX_CURSOR,
      description:
        'Names the page: a cursor from an earlier answer, unchanged. Leave it out for the newest page. ' +
        `The name of the item that the page starts with is accepted as well: ${description}.`,
    }),
  );

interface FlatQuery {
  /** Largest and default `limit`. */
  maximum: number;
  default: number;
  /** The farthest a page may start from its cursor. */
  reach: number;
  item: ItemName<unknown>;
}

/** The query of such a list: `limit`, `offset` and `cursor`. */
export const flatQuery = ({ maximum, default: usual, reach, item }: FlatQuery) => ({
  limit: limitOrDefault({ maximum, default: usual }),
  offset: Type.Integer({
    minimum: 0,
    maximum: reach,
    default: 0,
    description: 'Number of items to skip after the cursor, or after the newest item without one',
  }),
  cursor: flatCursor(item),
});

const Flat = Type.Object(
  {
    limit: Type.Integer(),
    offset: Type.Integer(),
    total: Type.Integer({ description: 'Number of items in the whole list' }),
    next_cursor: neighbour('Cursor of the newer page; null on the newest page'),
    prev_cursor: neighbour('Cursor of the older page; null on the oldest page'),
    cursor: neighbour('Cursor of this page; null if it is empty'),
  },
  { $id: 'FlatPage' },
);

/** The schema of a page. @param item schema of one item */
export const FlatPage = <T extends TSchema>(item: T) => listOf(Flat, item);

/** What a 404 of such a list means. */
export const NO_CURSOR = 'Cursor not found';

/**
 * Where a page starts, by the query: the cursor, or the newest item, and the offset from there.
 * @param list name that the cursors are bound to
 * @throws ParameterError for a cursor that is not of this list
 */
export function flatStart<Name>(
  list: string,
  item: ItemName<Name>,
  { cursor, offset }: { cursor?: string; offset: number },
): OffsetStart<Name> {
  const isName = cursor !== undefined && new RegExp(`^(${item.pattern})$`).test(cursor);
  return isName
    ? { cursor: null, item: item.read(cursor), offset }
    : { cursor: pageCursor(list, cursor), item: null, offset };
}

/**
 * A page with the cursors of its neighbours.
 * @param list name that the cursors are bound to
 * @param page undefined where the cursor, or the offset from it, leads to no item
 * @param item serializes one item
 * @throws ApiError 404 where there is no page
 */
export function flatPage<T, R>(
  list: string,
  { limit, offset }: { limit: number; offset: number },
  page: Page<T> | undefined,
  item: (of: T) => R,
) {
  if (page === undefined) throw notFound(NO_CURSOR);
  return {
    limit,
    offset,
    total: page.total,
    next_cursor: neighbourText(list, page.previous),
    prev_cursor: neighbourText(list, page.next),
    cursor: page.items.length === 0 ? null : encodeCursor(list, page.current),
    results: serializedLate(page.items, item),
  };
}
