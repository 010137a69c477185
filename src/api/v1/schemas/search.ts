import { Type } from '@sinclair/typebox';
import { StxBalanceWithTotals } from '../../shared/address.ts';
import { Block } from '../../shared/block.ts';
import { FoundTransaction, MempoolTransaction, Transaction, typeWords } from '../../shared/transaction.ts';
import { Hash, Height, Hex, Principal, UnixTime, words } from '../../shared/values.ts';

const tx_type = { ...words(...typeWords), $id: 'TransactionTypeV1' };
const minedData = {
  canonical: Type.Boolean(),
  block_hash: Hex,
  burn_block_time: UnixTime,
  block_height: Height,
  tx_type,
};

const found = ($id: string, entity: Parameters<typeof Type.Object>[0]) =>
  Type.Object({ found: Type.Literal(true), result: Type.Object(entity) }, { $id });

export const Search = Type.Union(
  [
    found('FoundMinedTransaction', {
      entity_id: Hash,
      entity_type: Type.Literal('tx_id'),
      tx_data: Type.Object(minedData),
      metadata: Type.Optional(Transaction),
    }),
    found('FoundMempoolTransaction', {
      entity_id: Hash,
      entity_type: Type.Literal('mempool_tx_id'),
      tx_data: Type.Object({ tx_type }),
      metadata: Type.Optional(MempoolTransaction),
    }),
    found('FoundBlock', {
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
    found('FoundContract', {
      entity_id: Principal,
      entity_type: Type.Literal('contract_address'),
      tx_data: Type.Union([
        Type.Object({ ...minedData, tx_id: Hash }, { $id: 'MinedDeployment' }),
        Type.Object({ tx_type, tx_id: Hash }, { $id: 'PendingDeployment' }),
      ]),
      metadata: Type.Optional(FoundTransaction),
    }),
    found('FoundAddress', {
      entity_id: Principal,
      entity_type: Type.Literal('standard_address'),
      metadata: Type.Optional(StxBalanceWithTotals),
    }),
  ],
  { $id: 'SearchResult' },
);

export const NothingFound = Type.Object(
  {
    found: Type.Literal(false),
    result: Type.Object({
      entity_type: words('unknown_hash', 'invalid_term', 'contract_address', 'standard_address'),
    }),
    error: Type.String({ description: 'What is wrong' }),
  },
  { $id: 'NothingFound' },
);
