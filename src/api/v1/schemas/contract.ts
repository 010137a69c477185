import { Type } from '@sinclair/typebox';
import { Hash, Height, nullable } from '../../shared/values.ts';

export const Contract = Type.Object(
  {
    tx_id: Hash,
    canonical: Type.Boolean(),
    contract_id: Type.String(),
    block_height: Height,
    clarity_version: nullable(Type.Integer()),
    source_code: Type.String(),
    abi: nullable(Type.String({ description: 'Interface of the contract, as JSON text' })),
  },
  { $id: 'SmartContractV1' },
);
