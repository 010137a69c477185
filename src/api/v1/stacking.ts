/** Stacking by pox-2 to pox-4, from the prints of their contracts. */
import { type Static, type TProperties, Type } from '@sinclair/typebox';
import { exactNumber } from '../../base/json.ts';
import type { StackingPrint } from '../../chain/pox/stacking.ts';
import { poxAddressRaw } from '../../codec/bitcoin-address.ts';
import { toHex } from '../../codec/hex.ts';
import { requireFound, routeNotFound } from '../../http/errors.ts';
import { chainTip } from '../../http/etag.ts';
import { serializedLazily } from '../../http/json.ts';
import {
  legacyOffsetQuery,
  listOf,
  OffsetPage,
  offsetPage,
  UncountedPage,
  uncountedPage,
} from '../../http/pagination.ts';
import { pathSegment } from '../../http/request-url.ts';
import { Redirect, type Route, route, WITHOUT_INDEX } from '../../http/route.ts';
import type { StackingVersion, StackingEvent as StoredStackingEvent } from '../../store/model/staking.ts';
import { example } from '../shared/examples/examples.ts';
import { Amount, bitcoinAddress, Hash, Height, Hex, named, nullable, Principal, Uint64 } from '../shared/fields.ts';
import { HexHash, LegacyPrincipal, unanchored } from '../shared/parameters.ts';

const Integer = Type.String({ $id: 'IntegerText', pattern: '^[0-9]+$' });
const BurnHeight = Type.String({
  $id: 'BurnHeightText',
  pattern: '^[0-9]+$',
  description: 'Height of a Bitcoin block',
});

const cycles = {
  start_cycle_id: nullable(Integer, { $id: 'StartCycle' }),
  end_cycle_id: nullable(Integer, { $id: 'EndCycle', description: 'First reward cycle that is no longer covered' }),
};
const signer_key = nullable(Hex);
const delegator = Principal;
const lock = {
  lock_amount: Amount,
  lock_period: Integer,
  start_burn_height: BurnHeight,
  unlock_burn_height: BurnHeight,
  ...cycles,
};
const increase = { increase_by: Amount, total_locked: Amount, ...cycles };
const extension = { extend_count: Integer, unlock_burn_height: BurnHeight, ...cycles };
const aggregation = { reward_cycle: Integer, amount_ustx: Amount, ...cycles };

const BitcoinAddress = nullable(Type.String(), { description: 'Bitcoin address' });

const event = <const N extends string, P extends TProperties>(name: N, data: P) =>
  Type.Object({
    block_height: Height,
    tx_id: Hash,
    tx_index: Type.Integer(),
    event_index: Type.Integer(),
    stacker: Principal,
    locked: Amount,
    balance: Amount,
    burnchain_unlock_height: BurnHeight,
    pox_addr: BitcoinAddress,
    pox_addr_raw: nullable(Hex),
    name: Type.Literal(name),
    data: Type.Object(data),
  });

const StackingEvent = Type.Union(
  [
    event('handle-unlock', { first_cycle_locked: Integer, first_unlocked_cycle: Integer }),
    event('stack-stx', { ...lock, signer_key }),
    event('stack-increase', { ...increase, signer_key }),
    event('stack-extend', { ...extension, signer_key }),
    event('delegate-stx', {
      amount_ustx: Amount,
      delegate_to: Principal,
      unlock_burn_height: Type.Optional(BurnHeight),
      ...cycles,
    }),
    event('delegate-stack-stx', { ...lock, delegator }),
    event('delegate-stack-increase', { ...increase, delegator }),
    event('delegate-stack-extend', { ...extension, delegator }),
    event('stack-aggregation-commit', { ...aggregation, signer_key }),
    event('stack-aggregation-commit-indexed', { ...aggregation, signer_key }),
    event('stack-aggregation-increase', aggregation),
    event('revoke-delegate-stx', { delegate_to: Principal, ...cycles }),
  ],
  { $id: 'PoxEvent' },
);

const Delegation = named('Delegation', {
  stacker: Principal,
  pox_addr: Type.Optional(Type.String({ description: 'Bitcoin address' })),
  amount_ustx: Amount,
  burn_block_unlock_height: Type.Optional(Uint64),
  block_height: Height,
  tx_id: Hash,
});

function text(value: StackingPrint['data'][string]): string | null {
  if (value === null) return null;
  return value instanceof Uint8Array ? toHex(value) : String(value);
}

function stackingEvent({ print, ...event }: StoredStackingEvent): Static<typeof StackingEvent> {
  const data = Object.fromEntries(Object.entries(print.data).map(([name, value]) => [name, text(value)]));
  const serialized = {
    block_height: event.blockHeight,
    tx_id: toHex(event.txId),
    tx_index: event.txIndex,
    event_index: event.eventIndex,
    stacker: print.stacker,
    locked: print.state.locked.toString(),
    balance: print.state.balance.toString(),
    burnchain_unlock_height: print.state.unlockHeight.toString(),
    pox_addr: bitcoinAddress(print),
    pox_addr_raw: print.poxAddress === null ? null : poxAddressRaw(print.poxAddress),
    name: print.name,
    data,
  };
  // The table of the contract's topics names the fields of each.
  return serialized as Static<typeof StackingEvent>;
}

/** A delegation to a pool, in micro-STX. */
function delegation({ print, blockHeight, txId }: StoredStackingEvent): Static<typeof Delegation> {
  const address = bitcoinAddress(print);
  const unlockHeight = print.data.unlock_burn_height;
  return {
    stacker: print.stacker,
    ...(address === null ? {} : { pox_addr: address }),
    amount_ustx: String(print.data.amount_ustx),
    ...(typeof unlockHeight === 'bigint' && unlockHeight > 0n
      ? { burn_block_unlock_height: exactNumber(unlockHeight) }
      : {}),
    block_height: blockHeight,
    tx_id: toHex(txId),
  };
}

const tag = 'Stacking';

const versions = { pox2: 2, pox3: 3, pox4: 4 } as const;
const pox = Type.Transform(
  Type.Union([Type.Literal('pox2'), Type.Literal('pox3'), Type.Literal('pox4')], {
    description: 'Stacking contract, without its hyphen',
  }),
)
  .Decode((name): StackingVersion => versions[name])
  .Encode((version): keyof typeof versions => `pox${version}`);

const height = (description: string) => Type.Integer({ minimum: 1, description, examples: example('block_height') });

/** The contract's name is a segment of the path; any other name is answered like a path without a route. */
function checkContract(url: string): null {
  if (pathSegment(url, 3).startsWith('pox')) return null;
  throw routeNotFound({ method: 'GET', url });
}

/** A list without pages. */
const StackingEvents = listOf(named('Results', {}), StackingEvent);

const family = { tag, moved: checkContract, etag: chainTip } as const;

export const stacking = [
  route({
    ...family,
    path: '/extended/v1/{pox}/events',
    operationId: 'getPoxEvents',
    summary: 'Events of a stacking contract',
    description: 'Returns the events that a stacking contract printed, newest first.',
    params: { pox },
    query: legacyOffsetQuery({ maximum: 200, default: 96 }),
    response: UncountedPage(StackingEvent),
    history: 'since',
    handle: ({ params: { pox }, query, read }) =>
      uncountedPage(query, read.stacking.events(pox, query.limit, query.offset), stackingEvent),
  }),
  route({
    ...family,
    path: '/extended/v1/{pox}/tx/{tx_id}',
    operationId: 'getPoxEventsOfTransaction',
    summary: 'Stacking events of a transaction',
    description: 'Returns the events that a stacking contract printed in one transaction, last one first.',
    params: { pox, tx_id: HexHash },
    response: StackingEvents,
    notFound: 'Transaction not found',
    history: 'thing',
    handle: ({ params: { pox, tx_id }, read }) => {
      const events = requireFound(read.stacking.ofTransaction(pox, tx_id), 'could not find transaction by ID');
      return { results: serializedLazily(events, stackingEvent) };
    },
  }),
  route({
    ...family,
    path: '/extended/v1/{pox}/stacker/{principal}',
    operationId: 'getPoxEventsOfStacker',
    summary: 'Stacking events of a stacker',
    description:
      'Returns all events that a stacking contract printed about a stacker, newest first. For a pool these are its aggregation commits.',
    params: { pox, principal: LegacyPrincipal },
    response: StackingEvents,
    history: 'since',
    handle: ({ params: { pox, principal }, read }) => ({
      results: serializedLazily(read.stacking.ofStacker(pox, principal), stackingEvent),
    }),
  }),
  route({
    ...family,
    path: '/extended/v1/{pox}/{pool_principal}/delegations',
    operationId: 'getPoolDelegations',
    summary: 'Delegations to a pool',
    description:
      'Returns the delegations to a pool that are in force at a block, one for each stacker, newest first. With `unanchored` and without `height`, the request is for the next block, which is not found until it has arrived.',
    params: { pox, pool_principal: LegacyPrincipal },
    query: {
      ...legacyOffsetQuery({ maximum: 200, default: 100 }),
      after_block: Type.Optional(height('Only delegations made after the block at this height are returned')),
      height: Type.Optional(height('Height of the block at which the delegations are in force (default: the tip)')),
      unanchored,
    },
    response: OffsetPage(Delegation),
    notFound: 'Block not found at this height',
    history: 'whole',
    handle: ({ params: { pox, pool_principal }, query, read }) => {
      const tip = read.chain.tip()?.height ?? 0;
      const blockHeight = query.height ?? (query.unanchored ? tip + 1 : tip);
      const { limit, offset, after_block: afterHeight = 0 } = query;
      const page = requireFound(
        read.stacking.delegations(pox, pool_principal, { height: blockHeight, afterHeight }, limit, offset),
        `no block at height: ${blockHeight}`,
      );
      return offsetPage(query, page, delegation);
    },
  }),
];

/** Redirects from the former paths: `/extended/v1/pox4_events/…`. */
const redirectFrom = (path: string, locationOf: (target: string) => string): Route =>
  route({
    path,
    operationId: 'redirectToStacking',
    summary: 'Redirects to the route that took its place',
    tag,
    hidden: true,
    response: Type.Void(),
    ...WITHOUT_INDEX,
    handle: ({ target }) => new Redirect(locationOf(target)),
  });

/** Redirects from paths of the time when stacking had one list for each version. */
export const stackingRedirects: readonly Route[] = Object.keys(versions).flatMap((name) => {
  const former = `/extended/v1/${name}_events`;
  const now = `/extended/v1/${name}`;
  return [
    redirectFrom(former, (target) => `${now}/events${target.slice(former.length)}`),
    redirectFrom(`${former}/*`, (target) => `${now}${target.slice(former.length)}`),
  ];
});
