import { Type } from '@sinclair/typebox';
import { Hash, nullable } from '../../shared/schemas/values.ts';
import { BitcoinBlock, Block } from './place.ts';

export const SmartContract = Type.Object(
  {
    contract_id: Type.String(),
    clarity_version: nullable(Type.Integer()),
    tx_id: Hash,
    block: Block,
    bitcoin_block: BitcoinBlock,
    source_code: Type.Optional(Type.String()),
  },
  { $id: 'SmartContract' },
);
