import { type Static, Type } from '@sinclair/typebox';
import { ClarityPair, Hash, Height, words } from '../../shared/schemas/values.ts';

const ContractStatus = Type.Union([
  Type.Object({
    found: Type.Literal(true),
    result: Type.Object({
      status: words('pending', 'success', 'abort_by_response', 'abort_by_post_condition', 'problematic_skipped'),
      tx_id: Hash,
      contract_id: Type.String(),
      block_height: Type.Optional(Height),
    }),
  }),
  Type.Object({ found: Type.Literal(false) }),
]);

/** By contract identifier. */
export const ContractStatuses = Type.Unsafe<Record<string, Static<typeof ContractStatus>>>(
  Type.Object({}, { additionalProperties: ContractStatus }),
);

export const ContractLog = Type.Object({
  event_index: Type.Integer({ minimum: 0 }),
  event_type: Type.Literal('smart_contract_log'),
  tx_id: Hash,
  contract_log: Type.Object({ contract_id: Type.String(), topic: Type.String(), value: ClarityPair }),
});
