/**
 * The mempool's fee distribution and oldest transaction, the blocks that it would fill, the position of a pending transaction,
 * and the bytes of any transaction. Only Stackside has these routes: v1's route of bytes is deprecated, and the node's route
 * replaces it.
 */
import { Type } from '@sinclair/typebox';
import { TENURE_BUDGET } from '../../chain/network.ts';
import { BLOCK_LIMITS, type ProjectedBlock } from '../../chain/projection.ts';
import { toHex } from '../../codec/hex.ts';
import { notFound, requireFound } from '../../http/errors.ts';
import { mempool as mempoolTag, transaction as transactionTag } from '../../http/etag.ts';
import { route } from '../../http/route.ts';
import type { OfferedFee, PendingAwaits } from '../../store/model/transaction.ts';
import { Amount, Hash, Hex, named, nullable, Principal, UnixTime } from '../shared/fields.ts';
import { TxId } from '../shared/parameters.ts';
import { waitingStatuses } from '../shared/transaction-parts.ts';

/** Minimum fees of the ranges in micro-STX, each about three times the previous one; the last range is unlimited. */
const BOUNDS = [0, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000];

const Spread = named('MempoolSpread', {
  total: Type.Integer({ description: 'Number of pending transactions' }),
  oldest: nullable(Type.Object({ tx_id: Hash, receipt_time: UnixTime })),
  fees: Type.Array(
    Type.Object({
      type: Type.String(),
      ranges: Type.Array(
        Type.Object({
          from: Type.Integer({ description: 'Minimum fee of the range, in micro-STX' }),
          to: nullable(Type.Integer(), { description: 'Minimum fee of the next range; null for the last range' }),
          transactions: Type.Integer(),
        }),
      ),
    }),
    { description: 'For each type of transaction that waits, how many offer a fee of each range' },
  ),
});

const place = (among: string) =>
  nullable(Type.Integer({ minimum: 1 }), {
    description: `Place among ${among}; null if more than 10,000 of them offer a higher fee`,
  });

const Position = named('MempoolPosition', {
  tx_id: Hash,
  status: waitingStatuses,
  replaced_by_tx_id: nullable(Hash),
  position_by_fee: nullable(Type.Object({ all: place('all pending transactions'), type: place('those of its type') }), {
    description: 'Places by fee, from 1 for the highest; equal fees share a place. Null for a dropped transaction',
  }),
  projected: nullable(
    Type.Object(
      { block: Type.Integer({ minimum: 1 }), place: Type.Integer({ minimum: 1 }) },
      { description: 'The projected block that contains it, and its place in the block; null if none does' },
    ),
  ),
  awaits: Type.Array(
    Type.Union([
      Type.Object({
        for: Type.Literal('nonce'),
        principal: Principal,
        nonce: Type.Integer({ minimum: 0 }),
        tx_id: nullable(Hash, { description: 'The pending transaction with the nonce; null if the nonce is missing' }),
      }),
      Type.Object({ for: Type.Literal('balance'), principal: Principal, needed: Amount, available: Amount }),
    ]),
    {
      description:
        'Reasons why it waits: nonces that its sender or sponsor must use before, and STX that an account lacks for its fee or amount',
    },
  ),
  fee_for_next_block: nullable(Amount, {
    description: 'Minimum fee in micro-STX for a place in the first projected block; null if no fee is high enough',
  }),
});

const MAX_BLOCKS = 8;

const limits = [
  ...Object.keys(TENURE_BUDGET).map((name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)),
  'size',
];
const share = Type.Number({ minimum: 0 });

const Projected = named('MempoolProjection', {
  total: Type.Integer({ description: 'Number of pending transactions' }),
  considered: Type.Integer({
    description: 'Number of pending transactions in the projection: all, or those with the highest fees',
  }),
  estimated: Type.Integer({
    description: 'Number of contract calls among them with a cost that is estimated from earlier calls of the function',
  }),
  waiting: Type.Object(
    { nonce: Type.Integer(), balance: Type.Integer() },
    {
      description:
        'Number of those outside all blocks: they wait for another nonce, or their account has less than the fee or the amount',
    },
  ),
  beyond: Type.Integer({ description: 'Number of transactions in blocks after the returned ones' }),
  blocks: Type.Array(
    named('ProjectedBlock', {
      block: Type.Integer({ minimum: 1 }),
      transactions: Type.Integer(),
      size: Type.Integer({ description: 'Bytes of the transactions' }),
      fees: Type.Object(
        { total: Amount, least: Amount, median: Amount, greatest: Amount },
        { description: 'Fees in micro-STX' },
      ),
      shares: Type.Object(Object.fromEntries(limits.map((name) => [name, share])), {
        description:
          'Shares of a block’s maximum: a quarter of a tenure’s budget of each dimension, and 2 MiB. More than 1 for a single transaction that needs more',
      }),
    }),
  ),
});

function projectedBlock({ transactions, uses }: ProjectedBlock, index: number) {
  const fees = transactions.map(({ fee }) => fee).sort((a, b) => a - b);
  const text = (fee: number | undefined): string => BigInt(fee ?? 0).toString();
  return {
    block: index + 1,
    transactions: transactions.length,
    size: uses.at(-1) ?? 0,
    fees: {
      total: text(fees.reduce((sum, fee) => sum + fee, 0)),
      least: text(fees[0]),
      median: text(fees[fees.length >> 1]),
      greatest: text(fees.at(-1)),
    },
    shares: Object.fromEntries(limits.map((name, position) => [name, uses[position]! / BLOCK_LIMITS[position]!])),
  };
}

function waitReason(reason: PendingAwaits) {
  const { principal } = reason;
  if (reason.for === 'nonce') {
    const { nonce, txId } = reason;
    return { for: reason.for, principal, nonce, tx_id: txId === null ? null : toHex(txId) };
  }
  return { for: reason.for, principal, needed: reason.needed.toString(), available: reason.available.toString() };
}

const NOT_WAITING = 'Transaction not found: it is neither pending nor dropped';

function rangesOf(offered: readonly OfferedFee[]) {
  return BOUNDS.map((from, index) => {
    const to = BOUNDS[index + 1] ?? null;
    const inside = offered.filter(({ fee }) => fee >= BigInt(from) && (to === null || fee < BigInt(to)));
    return { from, to, transactions: inside.reduce((sum, { transactions }) => sum + transactions, 0) };
  });
}

const projection = { tag: 'Stackside', etag: mempoolTag, history: 'since', long: true } as const;

export const mempoolState = [
  route({
    path: '/stackside/v1/mempool',
    operationId: 'getMempoolSpread',
    summary: 'Fees and age of pending transactions',
    description:
      'Returns how many pending transactions of each type offer a fee of each range, and the transaction that waits the longest.',
    tag: 'Stackside',
    response: Spread,
    etag: mempoolTag,
    history: 'pending',
    handle: ({ read }) => {
      const [offered, oldest] = [read.mempool.fees(), read.mempool.oldest()];
      return {
        total: offered.reduce((sum, { transactions }) => sum + transactions, 0),
        oldest: oldest === null ? null : { tx_id: toHex(oldest.txId), receipt_time: oldest.receiptTime },
        fees: [...Map.groupBy(offered, ({ type }) => type)].map(([type, ofType]) => ({
          type,
          ranges: rangesOf(ofType),
        })),
      };
    },
  }),
  route({
    ...projection,
    path: '/stackside/v1/mempool/blocks',
    operationId: 'getProjectedBlocks',
    summary: 'Blocks that pending transactions would fill',
    description: `Returns the first ${MAX_BLOCKS} blocks that the pending transactions would fill, if no others arrived. As for a miner with a node's default settings, the transaction with the highest fee for its cost and size comes next, among those with the next nonce of their account; equal ones in the order of receipt. The cost of a call is estimated from the newest calls of its function; without any, and for a deployment, only the size counts. Future transactions, and the time when a block ends, are unknown.`,
    response: Projected,
    handle: async ({ read }) => {
      const { blocks, places, total, considered, estimated, withoutBalance, withoutNonce } =
        await read.mempool.projection();
      const first = blocks.slice(0, MAX_BLOCKS).map(projectedBlock);
      return {
        total,
        considered,
        estimated,
        waiting: { nonce: withoutNonce, balance: withoutBalance },
        beyond: places.size - first.reduce((sum, { transactions }) => sum + transactions, 0),
        blocks: first,
      };
    },
  }),
  route({
    ...projection,
    path: '/stackside/v1/mempool/transactions/{tx_id}',
    operationId: 'getMempoolPosition',
    summary: 'Position of a pending transaction',
    description:
      'Returns the rank of a pending transaction by fee (among all transactions and within its type), its position in the projected blocks, the reasons why it waits, and the fee for the next block. A dropped transaction has its status and replacement.',
    params: { tx_id: TxId },
    response: Position,
    notFound: NOT_WAITING,
    handle: async ({ params: { tx_id }, read }) => {
      const transaction = read.transactions.find(tx_id);
      if (transaction === undefined || transaction.mined) throw notFound(NOT_WAITING);
      const { status, replacedByTxId } = transaction.transaction;
      const rank = read.mempool.feeRank(tx_id);
      const projected = await read.mempool.projected(tx_id);
      return {
        tx_id: toHex(tx_id),
        status,
        replaced_by_tx_id: replacedByTxId === null ? null : toHex(replacedByTxId),
        position_by_fee: rank === null ? null : { all: rank.ofAll, type: rank.ofType },
        projected: projected?.place ?? null,
        awaits: (projected?.awaits ?? []).map(waitReason),
        fee_for_next_block: projected?.fee == null ? null : String(projected.fee),
      };
    },
  }),
];

const UNKNOWN = 'Transaction not found';

export const rawTransactions = [
  route({
    path: '/stackside/v1/transactions/{tx_id}/raw',
    operationId: 'getTransactionBytes',
    summary: 'Serialized transaction',
    description:
      'Returns the bytes of a transaction in hex, whether it is mined, pending or dropped. Transactions made on Bitcoin have no bytes and return `0x00`.',
    tag: 'Stackside',
    params: { tx_id: TxId },
    response: named('TransactionBytes', { tx_id: Hash, raw_tx: Hex }),
    notFound: UNKNOWN,
    etag: transactionTag,
    history: 'thing',
    handle: ({ params: { tx_id }, read }) => {
      const inForks = requireFound(read.transactions.findInForks(tx_id), UNKNOWN);
      return { tx_id: toHex(tx_id), raw_tx: toHex(inForks.transaction.raw) };
    },
  }),
];
