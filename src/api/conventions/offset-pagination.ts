/** Lists that are walked by offset: what they are asked and the envelope they answer. */
import { type TSchema, Type } from '@sinclair/typebox';
import type { OffsetPage as Found } from '../../store/model.ts';

interface Limits {
  maximum: number;
  default: number;
}

export const offsetQuery = (limits: Limits) => ({
  limit: Type.Integer({ minimum: 0, ...limits, description: 'Items per page' }),
  offset: Type.Integer({ minimum: 0, default: 0, description: 'Items before the page' }),
});

export const OffsetPage = <T extends TSchema>(item: T) =>
  Type.Object({
    limit: Type.Integer(),
    offset: Type.Integer(),
    total: Type.Integer({ description: 'Items in the whole list' }),
    results: Type.Array(item),
  });

export const offsetPage = <T, R>(
  { limit, offset }: { limit: number; offset: number },
  page: Found<T>,
  item: (of: T) => R,
) => ({ limit, offset, total: page.total, results: page.items.map(item) });
