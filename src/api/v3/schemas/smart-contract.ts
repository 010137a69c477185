import { Type } from '@sinclair/typebox';
import { BitcoinBlock, Block } from './place.ts';
import { Hash, nullable } from './values.ts';

export const SmartContract = Type.Object({
  contract_id: Type.String(),
  clarity_version: nullable(Type.Integer()),
  tx_id: Hash,
  block: Block,
  bitcoin_block: BitcoinBlock,
  source_code: Type.Optional(Type.String()),
});
