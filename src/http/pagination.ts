/** Lists that are walked by cursor: what they are asked and the envelope they answer. */
import { type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import type { Cursor, Page } from '../store/model/page.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import { invalidCursor } from './errors.ts';
import { MaybeWritten, serializedLate } from './json.ts';

/** The characters of a cursor. */
export const CURSOR_TEXT = '[A-Za-z0-9_-]+';
export const MAX_CURSOR = 1024;

export const cursorQuery = {
  limit: Type.Integer({ minimum: 1, maximum: 50, default: 20, description: 'Maximum number of items on a page' }),
  cursor: Type.Optional(
    Type.String({
      pattern: `^${CURSOR_TEXT}$`,
      maxLength: MAX_CURSOR,
      description: 'Names the page: a cursor from an earlier answer, unchanged. Leave it out for the first page.',
    }),
  ),
};

/** The schema of a cursor that names a page, null where there is none. */
export const neighbour = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

/**
 * The schema of a list, which is called as its items and its kind are: `BlockPage`.
 * @param kind schema of what the lists have besides their items
 * @param item schema of one item, which has a name
 */
export function listOf<P extends TProperties, T extends TSchema>(kind: TObject<P>, item: T) {
  if (item.$id === undefined) throw new Error(`the items of a ${kind.$id} have no name`);
  return Type.Object(
    { ...kind.properties, results: Type.Array(MaybeWritten(item)) },
    { $id: `${item.$id}${kind.$id}`, extends: kind },
  );
}

const limit = Type.Integer();
const PageCursors = Type.Object(
  {
    next: neighbour('Cursor of the next page; null on the last page'),
    previous: neighbour('Cursor of the previous page; null on the first page'),
    current: Type.String({ description: 'Cursor of this page' }),
  },
  { $id: 'PageCursors' },
);
const CountedPage = Type.Object(
  { total: Type.Integer({ description: 'Number of items in the whole list' }), limit, cursor: PageCursors },
  { $id: 'Page' },
);
const UncountedPage = Type.Object(
  {
    total: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Number of items in the whole list; null for a list that a filter makes, which is not counted',
    }),
    limit,
    cursor: PageCursors,
  },
  { $id: 'UncountedPage' },
);

/** The schema of a page. @param item schema of one item */
export const CursorPage = <T extends TSchema>(item: T) => listOf(CountedPage, item);

/** The schema of a page of a list that isn't always counted. @param item schema of one item */
export const UncountedCursorPage = <T extends TSchema>(item: T) => listOf(UncountedPage, item);

/** Null for the first page. @throws ParameterError for a cursor that is not of this list */
export function pageCursor(list: string, text: string | undefined): Cursor | null {
  if (text === undefined) return null;
  const cursor = decodeCursor(list, text);
  if (cursor === null) throw invalidCursor();
  return cursor;
}

/** The text of a neighbour's cursor; null where there is no such page. */
export const neighbourText = (list: string, cursor: Cursor | null): string | null =>
  cursor === null ? null : encodeCursor(list, cursor);

/**
 * A page with the cursors of its neighbours.
 * @param list name that the cursors are bound to
 * @param item serializes one item
 */
export function cursorPage<T, R, Count extends number | null = number>(
  list: string,
  limit: number,
  page: Page<T, Count>,
  item: (of: T) => R,
) {
  return {
    total: page.total,
    limit,
    cursor: {
      next: neighbourText(list, page.next),
      previous: neighbourText(list, page.previous),
      current: encodeCursor(list, page.current),
    },
    results: serializedLate(page.items, item),
  };
}
