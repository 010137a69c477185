/** The mempool as a whole: how the fees of what waits are spread, and what waits the longest. Stackside's own. */
import { Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { mempool as mempoolTag } from '../../http/etag.ts';
import { route } from '../../http/route.ts';
import type { OfferedFee } from '../../store/model/transaction.ts';
import { Hash, nullable, UnixTime } from '../shared/schemas/values.ts';

/** Least fees of the ranges in micro-STX, each about three times the one before; the last range has no end. */
const BOUNDS = [0, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000];

const Spread = Type.Object({
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
});

/** Transactions by range of their fee. */
function rangesOf(offered: readonly OfferedFee[]) {
  return BOUNDS.map((from, index) => {
    const to = BOUNDS[index + 1] ?? null;
    const inside = offered.filter(({ fee }) => fee >= BigInt(from) && (to === null || fee < BigInt(to)));
    return { from, to, transactions: inside.reduce((sum, { transactions }) => sum + transactions, 0) };
  });
}

export const mempoolSpread = [
  route({
    path: '/stackside/v1/mempool',
    operationId: 'getMempoolSpread',
    summary: 'Fees and age of pending transactions',
    description:
      'Returns how many pending transactions of each type offer a fee of each range, and the transaction that waits the longest.',
    tag: 'Stackside',
    response: Spread,
    etag: mempoolTag,
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
];
