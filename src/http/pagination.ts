/** Lists that are walked by cursor: what they are asked and the envelope they answer. */
import { type TSchema, Type } from '@sinclair/typebox';
import type { CursorKey, Page } from '../store/model/page.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import { ParameterError } from './errors.ts';

export const cursorQuery = {
  limit: Type.Integer({ minimum: 1, maximum: 50, default: 20, description: 'Items per page' }),
  cursor: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9_-]+$',
      maxLength: 1024,
      description: 'Where the page starts: a cursor of an earlier answer, as it was given. Absent for the first page.',
    }),
  ),
};

const cursor = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

export const CursorPage = <T extends TSchema>(item: T) =>
  Type.Object({
    total: Type.Integer({ description: 'Items in the whole list' }),
    limit: Type.Integer(),
    cursor: Type.Object({
      next: cursor('Null on the last page'),
      previous: cursor('Null on the first page'),
      current: cursor('Null on an empty page'),
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

export function cursorPage<T, R>(list: string, limit: number, page: Page<T>, item: (of: T) => R) {
  const text = (key: CursorKey | null) => (key === null ? null : encodeCursor(list, key));
  return {
    total: page.total,
    limit,
    cursor: { next: text(page.next), previous: text(page.previous), current: text(page.current) },
    results: page.items.map(item),
  };
}
