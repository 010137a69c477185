import { type Static, Type } from '@sinclair/typebox';
import { ChainBlock } from './chain-block.ts';
import { describedHex, Hash, Height, OptionalTime, UnixTime } from './values.ts';

export const Block = Type.Object(
  {
    ...Type.Omit(ChainBlock, ['canonical', 'parent_index_block_hash', 'tx_count']).properties,
    canonical: Type.Boolean(),
    txs: Type.Array(Hash, { description: 'Ids of the transactions in the block, last one first' }),
    parent_microblock_hash: Type.Union([Hash, Type.Literal('')]),
    parent_microblock_sequence: Type.Integer({
      description: 'Sequence of the last microblock that the block confirmed; -1 if there is none',
    }),
    microblocks_accepted: Type.Array(Hash, { description: 'Hashes of the microblocks that the block confirmed' }),
    microblocks_streamed: Type.Array(Hash, { description: 'Hashes of the microblocks built on the block' }),
    microblock_tx_count: Type.Record(Type.String(), Type.Integer(), {
      description: 'Number of transactions by hash of each microblock that the block confirmed',
    }),
  },
  { $id: 'BlockV1' },
);
export type Block = Static<typeof Block>;

export const Microblock = Type.Object(
  {
    canonical: Type.Literal(true),
    microblock_canonical: Type.Literal(true),
    microblock_hash: Hash,
    microblock_sequence: Type.Integer(),
    microblock_parent_hash: Hash,
    block_height: Height,
    parent_block_height: Height,
    parent_block_hash: Hash,
    block_hash: describedHex('Hash of the block that confirmed the microblock; 0x until one does'),
    parent_burn_block_hash: describedHex('Hash of the Bitcoin block of the parent; 0x if it is unknown'),
    parent_burn_block_time: UnixTime,
    parent_burn_block_time_iso: OptionalTime,
    parent_burn_block_height: Height,
    txs: Type.Array(Hash, { description: 'Ids of the transactions in the block, last one first' }),
  },
  { $id: 'Microblock' },
);
