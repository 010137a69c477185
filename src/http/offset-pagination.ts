/** Lists that are walked by offset: what they are asked and the envelope they answer. */
import { type TSchema, Type } from '@sinclair/typebox';
import type { OffsetPage as Found } from '../store/model/page.ts';
import { serializedLate } from './json.ts';
import { listOf } from './pagination.ts';

interface Limits {
  maximum: number;
  default: number;
}

const itemsBefore = Type.Integer({ minimum: 0, default: 0, description: 'Number of items to skip before the page' });

/** The parameter `limit` of routes on which 0 stands for the default. */
export const limitOrDefault = ({ maximum, default: usual }: Limits) =>
  Type.Transform(
    Type.Integer({
      minimum: 0,
      maximum,
      default: usual,
      description: `Maximum number of items on a page; 0 stands for the default, ${usual}`,
    }),
  )
    .Decode((limit) => (limit === 0 ? usual : limit))
    .Encode((limit) => limit);

/** The query of routes on which a limit of 0 asks for the total alone. */
export const offsetQuery = (limits: Limits) => ({
  limit: Type.Integer({ minimum: 0, ...limits, description: 'Maximum number of items on a page' }),
  offset: itemsBefore,
});

/** The query of v1's lists, on which a limit of 0 stands for the default. */
export const legacyOffsetQuery = (limits: Limits) => ({ limit: limitOrDefault(limits), offset: itemsBefore });

export const List = Type.Object(
  {
    limit: Type.Integer(),
    offset: Type.Integer(),
    total: Type.Integer({ description: 'Number of items in the whole list' }),
  },
  { $id: 'List' },
);
const UncountedList = Type.Object({ limit: Type.Integer(), offset: Type.Integer() }, { $id: 'UncountedList' });

/** The schema of a page with the length of its list. @param item schema of one item */
export const OffsetPage = <T extends TSchema>(item: T) => listOf(List, item);

/** The schema of a page of v1's lists that don't state their length. @param item schema of one item */
export const UncountedPage = <T extends TSchema>(item: T) => listOf(UncountedList, item);

/** A page with the length of its list. @param item serializes one item */
export const offsetPage = <T, R>(
  { limit, offset }: { limit: number; offset: number },
  page: Found<T>,
  item: (of: T) => R,
) => ({ limit, offset, total: page.total, results: serializedLate(page.items, item) });

/** A page without the length of its list. @param item serializes one item */
export const uncountedPage = <T, R>(
  { limit, offset }: { limit: number; offset: number },
  page: Found<T>,
  item: (of: T) => R,
) => ({ limit, offset, results: serializedLate(page.items, item) });
