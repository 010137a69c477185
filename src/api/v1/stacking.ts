/** Stacking by pox-2 to pox-4, as their contracts' prints tell of it. */
import { Type } from '@sinclair/typebox';
import { notFound, UnknownRouteError } from '../../http/errors.ts';
import { chainTip } from '../../http/etag.ts';
import { serializedLate } from '../../http/json.ts';
import {
  legacyOffsetQuery,
  OffsetPage,
  offsetPage,
  UncountedPage,
  uncountedPage,
} from '../../http/offset-pagination.ts';
import { listOf } from '../../http/pagination.ts';
import { pathSegment } from '../../http/request-url.ts';
import { Redirect, type Route, route } from '../../http/route.ts';
import type { StackingVersion } from '../../store/model/staking.ts';
import { example } from '../shared/examples/examples.ts';
import { HexHash, Principal, unanchored } from '../shared/legacy-parameters.ts';
import { Delegation, StackingEvent } from './schemas/stacking.ts';
import { delegation, stackingEvent } from './serialize/stacking.ts';

const tag = 'Stacking';

const versions = { pox2: 2, pox3: 3, pox4: 4 } as const;
const pox = Type.Transform(
  Type.Union([Type.Literal('pox2'), Type.Literal('pox3'), Type.Literal('pox4')], {
    description: 'Stacking contract, without its hyphen',
  }),
)
  .Decode((name): StackingVersion => versions[name])
  .Encode((version): keyof typeof versions => `pox${version}`);

const EVENTS = { maximum: 200, default: 96 };
const DELEGATIONS = { maximum: 200, default: 100 };
const height = (description: string) => Type.Integer({ minimum: 1, description, examples: example('block_height') });

/** The contracts are a part of the path: of any other word there, there is no route. */
function ofContract(url: string): null {
  if (pathSegment(url, 3).startsWith('pox')) return null;
  throw new UnknownRouteError({ method: 'GET', url });
}

const UNKNOWN_TRANSACTION = 'could not find transaction by ID';

/** Events that aren't paged. */
const StackingEvents = listOf(Type.Object({}, { $id: 'Results' }), StackingEvent);

export const stacking = [
  route({
    path: '/extended/v1/{pox}/events',
    operationId: 'getPoxEvents',
    summary: 'Events of a stacking contract',
    description: 'Returns the events that a stacking contract printed, newest first.',
    tag,
    params: { pox },
    query: legacyOffsetQuery(EVENTS),
    response: UncountedPage(StackingEvent),
    moved: ofContract,
    etag: chainTip,
    handle: async ({ params: { pox }, query, read }) =>
      uncountedPage(query, await read.stacking.events(pox, query.limit, query.offset), stackingEvent),
  }),
  route({
    path: '/extended/v1/{pox}/tx/{tx_id}',
    operationId: 'getPoxEventsOfTransaction',
    summary: 'Stacking events of a transaction',
    description: 'Returns the events that a stacking contract printed in one transaction, last one first.',
    tag,
    params: { pox, tx_id: HexHash },
    response: StackingEvents,
    notFound: 'Transaction not found',
    moved: ofContract,
    etag: chainTip,
    handle: async ({ params: { pox, tx_id }, read }) => {
      const events = await read.stacking.ofTransaction(pox, tx_id);
      if (events === undefined) throw notFound(UNKNOWN_TRANSACTION);
      return { results: serializedLate(events, stackingEvent) };
    },
  }),
  route({
    path: '/extended/v1/{pox}/stacker/{principal}',
    operationId: 'getPoxEventsOfStacker',
    summary: 'Stacking events of a stacker',
    description:
      'Returns all events that a stacking contract printed about a stacker, newest first. For a pool these are its aggregation commits.',
    tag,
    params: { pox, principal: Principal },
    response: StackingEvents,
    moved: ofContract,
    etag: chainTip,
    handle: async ({ params: { pox, principal }, read }) => ({
      results: serializedLate(await read.stacking.ofStacker(pox, principal), stackingEvent),
    }),
  }),
  route({
    path: '/extended/v1/{pox}/{pool_principal}/delegations',
    operationId: 'getPoolDelegations',
    summary: 'Delegations to a pool',
    description:
      'Returns the delegations to a pool that are in force at a block, one for each stacker, newest first. With `unanchored` and without `height` the next block is asked for, which is not found until it has arrived.',
    tag,
    params: { pox, pool_principal: Principal },
    query: {
      ...legacyOffsetQuery(DELEGATIONS),
      after_block: Type.Optional(height('Only delegations made after the block at this height are returned')),
      height: Type.Optional(height('Height of the block at which the delegations are in force (default: the tip)')),
      unanchored,
    },
    response: OffsetPage(Delegation),
    notFound: 'Block not found at this height',
    moved: ofContract,
    etag: chainTip,
    handle: async ({ params: { pox, pool_principal }, query, read }) => {
      const tip = (await read.chain.tip())?.height ?? 0;
      const at = query.height ?? (query.unanchored ? tip + 1 : tip);
      const { limit, offset, after_block: afterHeight = 0 } = query;
      const page = await read.stacking.delegations(pox, pool_principal, { height: at, afterHeight }, limit, offset);
      if (page === undefined) throw notFound(`no block at height: ${at}`);
      return offsetPage(query, page, delegation);
    },
  }),
];

/** The paths these routes once had: `/extended/v1/pox4_events/…`. */
const redirectFrom = (path: string, locationOf: (target: string) => string): Route =>
  route({
    path,
    operationId: 'redirectToStacking',
    summary: 'Redirects to the route that took its place',
    tag,
    hidden: true,
    response: Type.Void(),
    etag: null,
    snapshot: false,
    handle: ({ target }) => new Redirect(locationOf(target)),
  });

/** Paths of before stacking had one list for each version. */
export const stackingRedirects: readonly Route[] = Object.keys(versions).flatMap((name) => {
  const former = `/extended/v1/${name}_events`;
  const now = `/extended/v1/${name}`;
  return [
    redirectFrom(former, (target) => `${now}/events${target.slice(former.length)}`),
    redirectFrom(`${former}/*`, (target) => `${now}${target.slice(former.length)}`),
  ];
});
