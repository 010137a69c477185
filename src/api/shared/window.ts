/** Query parameters that lists of the chain share: the order, and bounds by height or time. */
import { Type } from '@sinclair/typebox';
import { ParameterError } from '../../http/errors.ts';
import type { BlockWindow, HeightSpan } from '../../store/model/block.ts';
import type { ListOrder } from '../../store/model/page.ts';
import { example } from './examples/examples.ts';

const height = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: 4_294_967_295, description, examples: example('block_height') }));

const unixTime = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: 253_402_300_799, description, examples: example('block_time') }));

export const orderQuery = {
  order: Type.Optional(
    Type.Union([Type.Literal('desc'), Type.Literal('asc')], {
      description: '`desc`: newest first (default); `asc`: oldest first. A cursor belongs to the order of its list.',
      examples: ['asc'],
    }),
  ),
};

export const heightsQuery = {
  from_height: height('Height of the first block (default: the first block of the chain)'),
  to_height: height('Height of the last block, which is included (default: the tip)'),
};

export const timesQuery = {
  from_time: unixTime('Earliest time of the block, in Unix seconds'),
  to_time: unixTime('Latest time of the block, in Unix seconds'),
};

/** Name of a list in its cursors, which are bound to its order. */
export const inOrder = (list: string, order: ListOrder): string => (order === 'asc' ? `${list} asc` : list);

interface GivenWindow {
  from_height?: number;
  to_height?: number;
  from_time?: number;
  to_time?: number;
}

function requireOrder(window: GivenWindow, from: 'from_height' | 'from_time', to: 'to_height' | 'to_time'): void {
  const [first, last] = [window[from], window[to]];
  if (first === undefined || last === undefined || last >= first) return;
  throw new ParameterError({ location: 'querystring', path: [to] }, `must be >= ${from}`);
}

/** The heights of a query. @throws ParameterError if the last is less than the first */
function parseHeights(query: Pick<GivenWindow, 'from_height' | 'to_height'>): HeightSpan {
  requireOrder(query, 'from_height', 'to_height');
  return { from: query.from_height ?? null, to: query.to_height ?? null };
}

/** The window of a query. @throws ParameterError if it ends before it begins */
export function parseWindow(window: GivenWindow): BlockWindow {
  requireOrder(window, 'from_time', 'to_time');
  return { heights: parseHeights(window), since: window.from_time ?? null, until: window.to_time ?? null };
}
