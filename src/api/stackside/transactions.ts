/**
 * The mempool's fee distribution and oldest transaction, the fee rank of a pending transaction, and the bytes of any
 * transaction. Stackside's own routes: v1's route of bytes is deprecated, and its replacement is the node's.
 */
import { Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { notFound } from '../../http/errors.ts';
import { mempool as mempoolTag, transaction as transactionTag } from '../../http/etag.ts';
import { route } from '../../http/route.ts';
import type { OfferedFee } from '../../store/model/transaction.ts';
import { TxId } from '../shared/parameters.ts';
import { waitingStatuses } from '../shared/transaction-parts.ts';
import { Hash, Hex, nullable, UnixTime } from '../shared/values.ts';

/** Minimum fees of the ranges in micro-STX, each about three times the one before; the last range has no maximum. */
const BOUNDS = [0, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000];

const Spread = Type.Object(
  {
    total: Type.Integer({ description: 'Number of pending transactions' }),
    oldest: nullable(Type.Object({ tx_id: Hash, receipt_time: UnixTime })),
    fees: Type.Array(
      Type.Object({
        type: Type.String(),
        ranges: Type.Array(
          Type.Object({
            from: Type.Integer({ description: 'Least fee of the range, in micro-STX' }),
            to: Type.Union([Type.Integer(), Type.Null()], {
              description: 'Fee at which the next range begins; null for the last range',
            }),
            transactions: Type.Integer(),
          }),
        ),
      }),
      { description: 'For each type of transaction that waits, how many offer a fee of each range' },
    ),
  },
  { $id: 'MempoolSpread' },
);

const place = (among: string) =>
  Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], {
    description: `Place among ${among}; null where more than 10,000 of them offer a higher fee`,
  });

const Position = Type.Object(
  {
    tx_id: Hash,
    status: waitingStatuses,
    replaced_by_tx_id: nullable(Hash),
    position_by_fee: Type.Union(
      [Type.Object({ all: place('all pending transactions'), type: place('those of its type') }), Type.Null()],
      {
        description: 'Places by fee, from 1 for the highest; equal fees share a place. Null for a dropped transaction',
      },
    ),
  },
  { $id: 'MempoolPosition' },
);

const NOT_WAITING = 'Transaction not found among those that are pending or were dropped';

/** Number of transactions in each fee range. */
function rangesOf(offered: readonly OfferedFee[]) {
  return BOUNDS.map((from, index) => {
    const to = BOUNDS[index + 1] ?? null;
    const inside = offered.filter(({ fee }) => fee >= BigInt(from) && (to === null || fee < BigInt(to)));
    return { from, to, transactions: inside.reduce((sum, { transactions }) => sum + transactions, 0) };
  });
}

/** Routes of pending transactions. */
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
    history: 'none',
    handle: async ({ read }) => {
      const [offered, oldest] = [await read.mempool.fees(), await read.mempool.oldest()];
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
    path: '/stackside/v1/mempool/transactions/{tx_id}',
    operationId: 'getMempoolPosition',
    summary: 'Position of a pending transaction by fee',
    description:
      'Returns the rank of a pending transaction by fee, among all and among those of its type; for a dropped one its status and replacement.',
    tag: 'Stackside',
    params: { tx_id: TxId },
    response: Position,
    notFound: NOT_WAITING,
    etag: mempoolTag,
    history: 'none',
    handle: async ({ params: { tx_id }, read }) => {
      const found = await read.transactions.find(tx_id);
      if (found === undefined || found.mined) throw notFound(NOT_WAITING);
      const { status, replacedByTxId } = found.transaction;
      const rank = await read.mempool.feeRank(tx_id);
      return {
        tx_id: toHex(tx_id),
        status,
        replaced_by_tx_id: replacedByTxId === null ? null : toHex(replacedByTxId),
        position_by_fee: rank === null ? null : { all: rank.ofAll, type: rank.ofType },
      };
    },
  }),
];

const UNKNOWN = 'Transaction not found';

/** The bytes of a transaction. */
export const rawTransactions = [
  route({
    path: '/stackside/v1/transactions/{tx_id}/raw',
    operationId: 'getTransactionBytes',
    summary: 'Serialized transaction',
    description:
      'Returns the bytes of a transaction in hex, whether it is mined, pending or dropped. Transactions made on Bitcoin have none and return `0x00`.',
    tag: 'Stackside',
    params: { tx_id: TxId },
    response: Type.Object({ tx_id: Hash, raw_tx: Hex }, { $id: 'TransactionBytes' }),
    notFound: UNKNOWN,
    etag: transactionTag,
    history: 'thing',
    handle: async ({ params: { tx_id }, read }) => {
      const found = await read.transactions.findInForks(tx_id, { limit: 0, offset: 0 }, true);
      if (found === undefined) throw notFound(UNKNOWN);
      return { tx_id: toHex(tx_id), raw_tx: toHex(found.transaction.raw) };
    },
  }),
];
