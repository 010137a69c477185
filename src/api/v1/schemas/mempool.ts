import { Type } from '@sinclair/typebox';
import { nullable } from '../../shared/values.ts';

/** The types whose pending transactions are counted. */
export const countedTypes = ['token_transfer', 'smart_contract', 'contract_call', 'poison_microblock'] as const;

const byType = <T>(of: T): Record<(typeof countedTypes)[number], T> => ({
  token_transfer: of,
  smart_contract: of,
  contract_call: of,
  poison_microblock: of,
});

const percentile = nullable(Type.Number());
const Percentiles = Type.Object(
  { p25: percentile, p50: percentile, p75: percentile, p95: percentile },
  { $id: 'Percentiles' },
);

/** Percentiles lie between two values where none is at their place; null where nothing of the type waits. */
export const MempoolStats = Type.Object(
  {
    tx_type_counts: Type.Object(byType(Type.Integer())),
    tx_simple_fee_averages: Type.Object(byType(Percentiles), { description: 'Fees in micro-STX' }),
    tx_ages: Type.Object(byType(Percentiles), { description: 'Number of blocks since the transactions were received' }),
    tx_byte_sizes: Type.Object(byType(Percentiles)),
  },
  { $id: 'MempoolStatistics' },
);
