import { Type } from '@sinclair/typebox';
import { Uint64 } from '../../shared/values.ts';

/** micro-STX. */
const Priorities = Type.Object(
  {
    no_priority: Uint64,
    low_priority: Uint64,
    medium_priority: Uint64,
    high_priority: Uint64,
  },
  { $id: 'FeePriorities' },
);

/** Fees of all pending transactions, and of each type that has a pending one. */
export const Fees = Type.Object(
  {
    all: Priorities,
    token_transfer: Type.Optional(Priorities),
    contract_call: Type.Optional(Priorities),
    smart_contract: Type.Optional(Priorities),
  },
  { $id: 'MempoolFees' },
);
