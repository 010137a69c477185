/** Lists that are walked by cursor: what they are asked and the envelope they answer. */
import { type TSchema, Type } from '@sinclair/typebox';
import type { CursorKey, Page } from '../store/model/page.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import { ParameterError } from './errors.ts';

export const cursorQuery = {
  limit: Type.Integer({ minimum: 1, maximum: 50, default: 20, description: 'Maximum number of items on a page' }),
  cursor: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9_-]+$',
      maxLength: 1024,
      description: 'Start of the page: a cursor from an earlier answer, unchanged. Leave it out for the first page.',
    }),
  ),
};

const cursor = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

/** The schema of a page. @param item schema of one item */
export const CursorPage = <T extends TSchema>(item: T) =>
  Type.Object({
    total: Type.Integer({ description: 'Number of items in the whole list' }),
    limit: Type.Integer(),
    cursor: Type.Object({
      next: cursor('Cursor of the next page; null on the last page'),
      previous: cursor('Cursor of the previous page; null on the first page'),
      current: cursor('Cursor of this page; null if it is empty'),
    }),
    results: Type.Array(item),
  });

/** @throws ParameterError for a cursor that is not of this list */
export function pageStart(list: string, text: string | undefined): CursorKey | null {
  if (text === undefined) return null;
  const key = decodeCursor(list, text);
  if (key !== null) return key;
  throw new ParameterError(
    { place: 'querystring', path: ['cursor'] },
    (at) => `invalid cursor in ${at}: it is not one of this list; start again without a cursor`,
  );
}

/**
 * A page with the cursors of its neighbours.
 * @param list name that the cursors are bound to
 * @param item serializes one item
 */
export function cursorPage<T, R>(list: string, limit: number, page: Page<T>, item: (of: T) => R) {
  const text = (key: CursorKey | null) => (key === null ? null : encodeCursor(list, key));
  return {
    total: page.total,
    limit,
    cursor: { next: text(page.next), previous: text(page.previous), current: text(page.current) },
    results: page.items.map(item),
  };
}
