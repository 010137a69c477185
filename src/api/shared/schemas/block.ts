import { type Static, Type } from '@sinclair/typebox';
import { ChainBlock } from './chain-block.ts';
import { Hash, Height, Hex, IsoTime, UnixTime } from './values.ts';

export const Block = Type.Object({
  ...Type.Omit(ChainBlock, ['canonical', 'parent_index_block_hash', 'tx_count']).properties,
  canonical: Type.Boolean(),
  txs: Type.Array(Hash, { description: 'Ids of its transactions, the last first' }),
  parent_microblock_hash: Type.Union([Hash, Type.Literal('')]),
  parent_microblock_sequence: Type.Integer({ description: '-1 where it confirmed no microblock' }),
  microblocks_accepted: Type.Array(Hash, { description: 'Microblocks that it confirmed' }),
  microblocks_streamed: Type.Array(Hash, { description: 'Microblocks built on it' }),
  microblock_tx_count: Type.Record(Type.String(), Type.Integer(), {
    description: 'Transactions of each microblock that it confirmed',
  }),
});
export type Block = Static<typeof Block>;

export const Microblock = Type.Object({
  canonical: Type.Literal(true),
  microblock_canonical: Type.Literal(true),
  microblock_hash: Hash,
  microblock_sequence: Type.Integer(),
  microblock_parent_hash: Hash,
  block_height: Height,
  parent_block_height: Height,
  parent_block_hash: Hash,
  block_hash: { ...Hex, description: '0x while no block confirmed it' },
  parent_burn_block_hash: Hash,
  parent_burn_block_time: UnixTime,
  parent_burn_block_time_iso: IsoTime,
  parent_burn_block_height: Height,
  txs: Type.Array(Hash, { description: 'Ids of its transactions, the last first' }),
});
