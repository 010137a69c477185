import type { Static } from '@sinclair/typebox';
import type { PendingFeeAndSize } from '../../../store/model/transaction.ts';
import { countedTypes, type MempoolStats } from '../schemas/mempool.ts';

/** @param ascending at least one value */
function percentile(ascending: readonly number[], percent: number): number {
  const place = (percent / 100) * (ascending.length - 1);
  const below = ascending[Math.floor(place)] ?? 0;
  const above = ascending[Math.ceil(place)] ?? below;
  return below + (place - Math.floor(place)) * (above - below);
}

function percentiles(values: readonly number[]) {
  if (values.length === 0) return { p25: null, p50: null, p75: null, p95: null };
  const ascending = values.toSorted((a, b) => a - b);
  const at = (percent: number) => percentile(ascending, percent);
  return { p25: at(25), p50: at(50), p75: at(75), p95: at(95) };
}

function byType<T>(of: (type: (typeof countedTypes)[number]) => T) {
  const [transfer, contract, call, poison] = countedTypes;
  return {
    token_transfer: of(transfer),
    smart_contract: of(contract),
    contract_call: of(call),
    poison_microblock: of(poison),
  };
}

/** @param nextHeight of the block that may hold them */
export function mempoolStats(pending: readonly PendingFeeAndSize[], nextHeight: number): Static<typeof MempoolStats> {
  const of = (type: (typeof countedTypes)[number]) => pending.filter((one) => one.type === type);
  return {
    tx_type_counts: byType((type) => of(type).length),
    tx_simple_fee_averages: byType((type) => percentiles(of(type).map(({ fee }) => fee))),
    tx_ages: byType((type) => percentiles(of(type).map(({ receiptBlockHeight }) => nextHeight - receiptBlockHeight))),
    tx_byte_sizes: byType((type) => percentiles(of(type).map(({ size }) => size))),
  };
}
