/** Fees of pending transactions. */
import { type Static, Type } from '@sinclair/typebox';
import { exactNumber } from '../../base/json.ts';
import { mempool as mempoolTag } from '../../http/etag.ts';
import { route } from '../../http/route.ts';
import type { OfferedFee } from '../../store/model/transaction.ts';
import { named, Uint64 } from '../shared/fields.ts';

/** micro-STX. */
const Priorities = named('FeePriorities', {
  no_priority: Uint64,
  low_priority: Uint64,
  medium_priority: Uint64,
  high_priority: Uint64,
});

/** Fees of all pending transactions, and of each type that has a pending one. */
const Fees = named('MempoolFees', {
  all: Priorities,
  token_transfer: Type.Optional(Priorities),
  contract_call: Type.Optional(Priorities),
  smart_contract: Type.Optional(Priorities),
});

const TYPES = ['token_transfer', 'contract_call', 'smart_contract'] as const;

/** Rounds a quotient half to even. Neither argument is negative. */
function roundedQuotient(dividend: bigint, divisor: bigint): bigint {
  const [quotient, double] = [dividend / divisor, (dividend % divisor) * 2n];
  const isRoundedUp = double > divisor || (double === divisor && quotient % 2n === 1n);
  return isRoundedUp ? quotient + 1n : quotient;
}

/** Returns the fee at an index, counting a fee once for each transaction that offers it. @param fees ascending */
function feeAt(fees: readonly OfferedFee[], place: number): bigint {
  let passed = 0;
  for (const { fee, transactions } of fees) {
    passed += transactions;
    if (place < passed) return fee;
  }
  return 0n;
}

/** The fee at a percentile, in micro-STX, interpolated between two fees. */
function percentile(fees: readonly OfferedFee[], count: number, percent: number) {
  const hundredths = percent * Math.max(0, count - 1);
  const place = Math.floor(hundredths / 100);
  const below = feeAt(fees, place);
  const above = hundredths % 100 === 0 ? below : feeAt(fees, place + 1);
  return exactNumber(roundedQuotient(100n * below + BigInt(hundredths % 100) * (above - below), 100n));
}

function priorities(offered: readonly OfferedFee[]) {
  const fees = offered.toSorted((a, b) => (a.fee < b.fee ? -1 : Number(a.fee > b.fee)));
  const count = fees.reduce((sum, { transactions }) => sum + transactions, 0);
  return {
    no_priority: percentile(fees, count, 25),
    low_priority: percentile(fees, count, 50),
    medium_priority: percentile(fees, count, 75),
    high_priority: percentile(fees, count, 95),
  };
}

/** Fee levels in micro-STX, over all types and by type: percentiles 25, 50, 75 and 95 of the fees of pending transactions. */
export function fees(offered: readonly OfferedFee[]): Static<typeof Fees> {
  const serialized: Static<typeof Fees> = { all: priorities(offered) };
  for (const type of TYPES) {
    const ofType = offered.filter((offer) => offer.type === type);
    if (ofType.length > 0) serialized[type] = priorities(ofType);
  }
  return serialized;
}

export const mempoolFees = [
  route({
    path: '/extended/v2/mempool/fees',
    operationId: 'getMempoolFees',
    summary: 'Fee suggestions',
    description:
      'Returns four fee levels in micro-STX, for all transactions and for each type. The levels are percentiles of the fees that pending transactions offer.',
    tag: 'Mempool',
    response: Fees,
    etag: mempoolTag,
    history: 'pending',
    handle: ({ read }) => fees(read.mempool.fees()),
  }),
];
