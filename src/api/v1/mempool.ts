/** Pending transactions of v1, statistics of the mempool, and the fee that v1 estimates. */
import { type Static, Type } from '@sinclair/typebox';
import { ApiError } from '../../http/errors.ts';
import { mempoolAndAnyFork, mempool as mempoolTag } from '../../http/etag.ts';
import { legacyOffsetQuery, OffsetPage, offsetPage } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import type { PendingFeeAndSize } from '../../store/model/transaction.ts';
import { named, nullable, words } from '../shared/fields.ts';
import { excludeFunctionArgs, LegacyPrincipal, unanchored } from '../shared/parameters.ts';
import { declarationsFor, MempoolTransaction, mempoolTransaction } from '../shared/transaction.ts';

const countedTypes = ['token_transfer', 'smart_contract', 'contract_call', 'poison_microblock'] as const;

type CountedType = (typeof countedTypes)[number];

const byType = <T>(make: (type: CountedType) => T) =>
  Object.fromEntries(countedTypes.map((type) => [type, make(type)])) as Record<CountedType, T>;

const Percentile = nullable(Type.Number());
const Percentiles = named('Percentiles', { p25: Percentile, p50: Percentile, p75: Percentile, p95: Percentile });

/** Percentiles are interpolated between two values; null if no transaction of the type is pending. */
const MempoolStats = named('MempoolStatistics', {
  tx_type_counts: Type.Object(byType(() => Type.Integer())),
  tx_simple_fee_averages: Type.Object(
    byType(() => Percentiles),
    { description: 'Fees in micro-STX' },
  ),
  tx_ages: Type.Object(
    byType(() => Percentiles),
    { description: 'Number of blocks since the transactions were received' },
  ),
  tx_byte_sizes: Type.Object(byType(() => Percentiles)),
});

/** An interpolated percentile. @param ascending at least one value */
function percentile(ascending: readonly number[], percent: number): number {
  const place = (percent / 100) * (ascending.length - 1);
  const below = ascending[Math.floor(place)] ?? 0;
  const above = ascending[Math.ceil(place)] ?? below;
  return below + (place - Math.floor(place)) * (above - below);
}

function percentiles(values: readonly number[]) {
  if (values.length === 0) return { p25: null, p50: null, p75: null, p95: null };
  const ascending = values.toSorted((a, b) => a - b);
  const valueAt = (percent: number) => percentile(ascending, percent);
  return { p25: valueAt(25), p50: valueAt(50), p75: valueAt(75), p95: valueAt(95) };
}

/** Statistics of pending transactions. @param nextHeight height of the next block */
function mempoolStats(pending: readonly PendingFeeAndSize[], nextHeight: number): Static<typeof MempoolStats> {
  const ofType = (type: CountedType) => pending.filter((transaction) => transaction.type === type);
  return {
    tx_type_counts: byType((type) => ofType(type).length),
    tx_simple_fee_averages: byType((type) => percentiles(ofType(type).map(({ fee }) => fee))),
    tx_ages: byType((type) => percentiles(ofType(type).map(({ receiptBlockHeight: height }) => nextHeight - height))),
    tx_byte_sizes: byType((type) => percentiles(ofType(type).map(({ size }) => size))),
  };
}

const tag = 'Mempool (v1)';

export const mempool = [
  route({
    path: '/extended/v1/tx/mempool',
    operationId: 'getMempoolTransactionList',
    summary: 'Pending transactions, filtered',
    description:
      'Returns the pending transactions that match all of the given filters, starting with the one received last (default of `order_by`).',
    tag,
    deprecated: { replacement: '/extended/v3/mempool/transactions' },
    query: {
      ...legacyOffsetQuery({ maximum: 50, default: 20 }),
      sender_address: Type.Optional(LegacyPrincipal),
      recipient_address: Type.Optional(LegacyPrincipal),
      address: Type.Optional({
        ...LegacyPrincipal,
        description: 'Address that is the sender, the sponsor, the recipient or the contract',
      }),
      order_by: Type.Optional({ ...words('age', 'size', 'fee'), description: 'Property that orders the transactions' }),
      order: Type.Optional({ ...words('asc', 'desc'), description: 'Direction of the order' }),
      unanchored,
      exclude_function_args: excludeFunctionArgs,
    },
    response: OffsetPage(MempoolTransaction),
    etag: mempoolAndAnyFork,
    history: 'since',
    handle: ({ query, read }) => {
      const { limit, offset, sender_address, recipient_address, address, order_by = 'age', order = 'desc' } = query;
      if (address !== undefined && (sender_address !== undefined || recipient_address !== undefined)) {
        throw new ApiError(400, 'The "address" filter cannot be specified with other address filters');
      }
      const filter = {
        sender: sender_address ?? null,
        recipient: recipient_address ?? null,
        principal: address ?? null,
      };
      const page = read.mempool.search(filter, { by: order_by, direction: order }, limit, offset);
      const declarations = declarationsFor(read, page.items);
      const context = { declarations, withoutArguments: query.exclude_function_args };
      return offsetPage({ limit, offset }, page, (item) => mempoolTransaction(item, context));
    },
  }),
  route({
    path: '/extended/v1/tx/mempool/stats',
    operationId: 'getMempoolTransactionStats',
    summary: 'Mempool statistics',
    description:
      'Returns the number of pending transactions of each type, and percentiles of their fees, ages and sizes.',
    tag,
    response: MempoolStats,
    etag: mempoolTag,
    history: 'pending',
    handle: ({ read }) => {
      const tip = read.chain.tip();
      return mempoolStats(read.mempool.feesAndSizes(), (tip?.height ?? 0) + 1);
    },
  }),
];

/** micro-STX per byte: the constant that v1 has always returned. */
const FEE_RATE = 400;

export const feeRate = [
  route({
    method: 'POST',
    path: '/extended/v1/fee_rate',
    operationId: 'fetchFeeRate',
    summary: 'Fixed fee rate',
    description:
      'Returns one fixed fee rate for every transaction; nothing is estimated. For an estimate, use the node at `/v2/fees/transaction`.',
    tag: 'Fees',
    deprecated: { replacement: '/v2/fees/transaction' },
    body: Type.Object({
      transaction: Type.String({ description: 'Serialized transaction in hex; its content has no effect' }),
    }),
    response: named('FeeRate', { fee_rate: Type.Integer() }),
    etag: null,
    history: 'none',
    handle: () => ({ fee_rate: FEE_RATE }),
  }),
];
