/** Blocks and microblocks as v1 and v2 return them. */
import { type Static, Type } from '@sinclair/typebox';
import { memoizeByObject } from '../../base/cache.ts';
import { toHex } from '../../codec/hex.ts';
import { written } from '../../http/json.ts';
import type { ChainMicroblock, ChainBlock as StoredChainBlock, WholeBlock } from '../../store/model/block.ts';
import {
  describedHex,
  exactNumber,
  Hash,
  Height,
  IsoTime,
  isoTime,
  OptionalTime,
  timeText,
  Uint64,
  UnixTime,
} from './values.ts';

/** A block of v2; blocks of v1 have the same members and more. */
export const ChainBlock = Type.Object(
  {
    canonical: Type.Literal(true),
    height: Height,
    hash: Hash,
    block_time: UnixTime,
    block_time_iso: IsoTime,
    tenure_height: Type.Integer({ description: 'Height of the tenure; -1 if the node did not state it' }),
    index_block_hash: Hash,
    parent_block_hash: Hash,
    parent_index_block_hash: Hash,
    burn_block_time: UnixTime,
    burn_block_time_iso: IsoTime,
    burn_block_hash: Hash,
    burn_block_height: Height,
    miner_txid: Hash,
    tx_count: Type.Integer({ minimum: 0 }),
    execution_cost_read_count: Uint64,
    execution_cost_read_length: Uint64,
    execution_cost_runtime: Uint64,
    execution_cost_write_count: Uint64,
    execution_cost_write_length: Uint64,
  },
  { $id: 'Block' },
);

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
    block_hash: describedHex('Hash of the block that confirmed the microblock'),
    parent_burn_block_hash: describedHex('Hash of the Bitcoin block of the parent; 0x if it is unknown'),
    parent_burn_block_time: UnixTime,
    parent_burn_block_time_iso: OptionalTime,
    parent_burn_block_height: Height,
    txs: Type.Array(Hash, { description: 'Ids of the transactions in the block, last one first' }),
  },
  { $id: 'Microblock' },
);

/** A block of the canonical chain as v2 returns it. Times are Unix seconds. */
function chainBlock(of: StoredChainBlock): Static<typeof ChainBlock> {
  const { burnBlock, cost } = of;
  return {
    canonical: true,
    height: of.height,
    hash: toHex(of.hash),
    block_time: of.time,
    block_time_iso: isoTime(of.time),
    tenure_height: of.tenureHeight,
    index_block_hash: toHex(of.indexHash),
    parent_block_hash: toHex(of.parentHash),
    parent_index_block_hash: toHex(of.parentIndexHash),
    burn_block_time: burnBlock.time,
    burn_block_time_iso: isoTime(burnBlock.time),
    burn_block_hash: toHex(burnBlock.hash),
    burn_block_height: burnBlock.height,
    miner_txid: toHex(of.minerTxId),
    tx_count: of.transactions,
    execution_cost_read_count: exactNumber(cost.readCount),
    execution_cost_read_length: exactNumber(cost.readLength),
    execution_cost_runtime: exactNumber(cost.runtime),
    execution_cost_write_count: exactNumber(cost.writeCount),
    execution_cost_write_length: exactNumber(cost.writeLength),
  };
}

/** Serializes {@link chainBlock}, once for each cached block. */
export const writtenBlock = memoizeByObject((of: StoredChainBlock) => written(chainBlock(of)));

/** A block of v1. @param microblocks order of the confirmed microblocks, by sequence */
export function block(of: WholeBlock, microblocks: 'ascending' | 'descending'): Block {
  const { parent_index_block_hash: _, tx_count: __, ...shared } = chainBlock(of);
  const accepted = of.confirmed.map(({ hash }) => toHex(hash));
  return {
    ...shared,
    canonical: of.canonical,
    txs: of.txIds.map(toHex).reverse(),
    parent_microblock_hash: of.parentMicroblock === null ? '' : toHex(of.parentMicroblock.hash),
    parent_microblock_sequence: of.parentMicroblock?.sequence ?? -1,
    microblocks_accepted: microblocks === 'ascending' ? accepted : accepted.reverse(),
    microblocks_streamed: of.streamed.map(toHex),
    microblock_tx_count: Object.fromEntries(of.confirmed.map(({ hash, transactions }) => [toHex(hash), transactions])),
  };
}

/** A microblock as v1 lists it. */
export function microblock(of: ChainMicroblock): Static<typeof Microblock> {
  const { hash, burnBlock } = of.parentBlock;
  return {
    canonical: true,
    microblock_canonical: true,
    microblock_hash: toHex(of.hash),
    microblock_sequence: of.sequence,
    microblock_parent_hash: toHex(of.parentHash),
    block_height: of.height,
    parent_block_height: of.height - 1,
    parent_block_hash: toHex(hash),
    block_hash: toHex(of.blockHash),
    parent_burn_block_hash: toHex(burnBlock.hash),
    parent_burn_block_time: burnBlock.time,
    parent_burn_block_time_iso: timeText(burnBlock.time),
    parent_burn_block_height: burnBlock.height,
    txs: of.txIds.map(toHex).reverse(),
  };
}
