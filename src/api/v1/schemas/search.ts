import { Type } from '@sinclair/typebox';
import { StxBalanceWithTotals } from '../../shared/schemas/address.ts';
import { Block } from '../../shared/schemas/block.ts';
import { MempoolTransaction, Transaction, typeWords } from '../../shared/schemas/transaction.ts';
import { Hash, Height, Hex, Principal, UnixTime, words } from '../../shared/schemas/values.ts';

const tx_type = words(...typeWords);
const minedData = {
  canonical: Type.Boolean(),
  block_hash: Hex,
  burn_block_time: UnixTime,
  block_height: Height,
  tx_type,
};

const found = (entity: Parameters<typeof Type.Object>[0]) =>
  Type.Object({ found: Type.Literal(true), result: Type.Object(entity) });

export const Search = Type.Union([
  found({
    entity_id: Hash,
    entity_type: Type.Literal('tx_id'),
    tx_data: Type.Object(minedData),
    metadata: Type.Optional(Transaction),
  }),
  found({
    entity_id: Hash,
    entity_type: Type.Literal('mempool_tx_id'),
    tx_data: Type.Object({ tx_type }),
    metadata: Type.Optional(MempoolTransaction),
  }),
  found({
    entity_id: Hash,
    entity_type: Type.Literal('block_hash'),
    block_data: Type.Object({
      canonical: Type.Boolean(),
      hash: Hash,
      parent_block_hash: Hash,
      burn_block_time: UnixTime,
      height: Height,
    }),
    metadata: Type.Optional(Block),
  }),
  found({
    entity_id: Principal,
    entity_type: Type.Literal('contract_address'),
    tx_data: Type.Union([Type.Object({ ...minedData, tx_id: Hash }), Type.Object({ tx_type, tx_id: Hash })]),
    metadata: Type.Optional(Type.Union([Transaction, MempoolTransaction])),
  }),
  found({
    entity_id: Principal,
    entity_type: Type.Literal('standard_address'),
    metadata: Type.Optional(StxBalanceWithTotals),
  }),
]);

export const NothingFound = Type.Object({
  found: Type.Literal(false),
  result: Type.Object({
    entity_type: words('unknown_hash', 'invalid_term', 'contract_address', 'standard_address'),
  }),
  error: Type.String({ description: 'What is wrong' }),
});
