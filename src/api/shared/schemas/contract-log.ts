import { Type } from '@sinclair/typebox';
import { ClarityPair, Hash } from './values.ts';

/** What a contract printed. */
export const LoggedValue = Type.Object(
  { contract_id: Type.String(), topic: Type.String(), value: ClarityPair },
  { $id: 'LoggedValue' },
);

export const ContractLog = Type.Object(
  {
    event_index: Type.Integer({ minimum: 0 }),
    event_type: Type.Literal('smart_contract_log'),
    tx_id: Hash,
    contract_log: LoggedValue,
  },
  { $id: 'ContractLog' },
);
