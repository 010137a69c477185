import { type Static, Type } from '@sinclair/typebox';
import { Hash, Height, words } from '../../shared/values.ts';

const ContractStatus = Type.Union(
  [
    Type.Object(
      {
        found: Type.Literal(true),
        result: Type.Object({
          status: words(
            'pending',
            'success',
            'abort_by_response',
            'abort_by_post_condition',
            'problematic_skipped',
            'unknown',
          ),
          tx_id: Hash,
          contract_id: Type.String(),
          block_height: Type.Optional(Height),
        }),
      },
      { $id: 'KnownContractStatus' },
    ),
    Type.Object({ found: Type.Literal(false) }, { $id: 'UnknownContractStatus' }),
  ],
  { $id: 'ContractStatus' },
);

/** Deployment statuses by contract identifier. */
export const ContractStatuses = Type.Unsafe<Record<string, Static<typeof ContractStatus>>>(
  Type.Object({}, { $id: 'ContractStatuses', additionalProperties: ContractStatus }),
);
