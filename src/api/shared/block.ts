/** Blocks and microblocks as v1 and v2 return them. */
import { type Static, Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { serializedRows } from '../../http/json.ts';
import type { ChainMicroblock, ChainBlock as StoredChainBlock, WholeBlock } from '../../store/model/block.ts';
import {
  costFields,
  describedHex,
  fields,
  Hash,
  Height,
  IsoTime,
  isoTime,
  literal,
  OptionalTime,
  object,
  timeText,
  UnixTime,
} from './fields.ts';

const chainFields = fields<StoredChainBlock>()({
  canonical: literal(true),
  height: [Height, ({ height }) => height],
  hash: [Hash, ({ hash }) => toHex(hash)],
  block_time: [UnixTime, ({ time }) => time],
  block_time_iso: [IsoTime, ({ time }) => isoTime(time)],
  tenure_height: [
    Type.Integer({ description: 'Height of the tenure; -1 if the node did not state it' }),
    ({ tenureHeight }) => tenureHeight,
  ],
  index_block_hash: [Hash, ({ indexHash }) => toHex(indexHash)],
  parent_block_hash: [Hash, ({ parentHash }) => toHex(parentHash)],
  parent_index_block_hash: [Hash, ({ parentIndexHash }) => toHex(parentIndexHash)],
  burn_block_time: [UnixTime, ({ burnBlock }) => burnBlock.time],
  burn_block_time_iso: [IsoTime, ({ burnBlock }) => isoTime(burnBlock.time)],
  burn_block_hash: [Hash, ({ burnBlock }) => toHex(burnBlock.hash)],
  burn_block_height: [Height, ({ burnBlock }) => burnBlock.height],
  miner_txid: [Hash, ({ minerTxId }) => toHex(minerTxId)],
  tx_count: [Type.Integer({ minimum: 0 }), ({ transactions }) => transactions],
  ...costFields,
});

export const [ChainBlock, chainBlock] = object<StoredChainBlock>('Block')(chainFields);

export const chainBlockRows = serializedRows('block', chainBlock);

const { parent_index_block_hash: _, tx_count: __, ...shared } = chainFields;

/** Ids of transactions, which are stored in the order of the chain. */
const txs = fields<{ txIds: readonly Uint8Array[] }>()({
  txs: [
    Type.Array(Hash, { description: 'Ids of the transactions in the block, last one first' }),
    ({ txIds }) => txIds.map(toHex).reverse(),
  ],
});

/** A block of v1. The context is the order of the confirmed microblocks, by sequence. */
export const [Block, block] = object<WholeBlock, [microblocks: 'ascending' | 'descending']>('BlockV1')({
  ...shared,
  canonical: [Type.Boolean(), ({ canonical }) => canonical],
  ...txs,
  parent_microblock_hash: [
    Type.Union([Hash, Type.Literal('')]),
    ({ parentMicroblock }) => (parentMicroblock === null ? '' : toHex(parentMicroblock.hash)),
  ],
  parent_microblock_sequence: [
    Type.Integer({ description: 'Sequence of the last microblock that the block confirmed; -1 if there is none' }),
    ({ parentMicroblock }) => parentMicroblock?.sequence ?? -1,
  ],
  microblocks_accepted: [
    Type.Array(Hash, { description: 'Hashes of the microblocks that the block confirmed' }),
    ({ confirmed }, microblocks) => {
      const accepted = confirmed.map(({ hash }) => toHex(hash));
      return microblocks === 'ascending' ? accepted : accepted.reverse();
    },
  ],
  microblocks_streamed: [
    Type.Array(Hash, { description: 'Hashes of the microblocks built on the block' }),
    ({ streamed }) => streamed.map(toHex),
  ],
  microblock_tx_count: [
    Type.Record(Type.String(), Type.Integer(), {
      description: 'Number of transactions by hash of each microblock that the block confirmed',
    }),
    ({ confirmed }) => Object.fromEntries(confirmed.map(({ hash, transactions }) => [toHex(hash), transactions])),
  ],
});
export type Block = Static<typeof Block>;

export const [Microblock, microblock] = object<ChainMicroblock>('Microblock')({
  canonical: literal(true),
  microblock_canonical: literal(true),
  microblock_hash: [Hash, ({ hash }) => toHex(hash)],
  microblock_sequence: [Type.Integer(), ({ sequence }) => sequence],
  microblock_parent_hash: [Hash, ({ parentHash }) => toHex(parentHash)],
  block_height: [Height, ({ height }) => height],
  parent_block_height: [Height, ({ height }) => height - 1],
  parent_block_hash: [Hash, ({ parentBlock }) => toHex(parentBlock.hash)],
  block_hash: [describedHex('Hash of the block that confirmed the microblock'), ({ blockHash }) => toHex(blockHash)],
  parent_burn_block_hash: [
    describedHex('Hash of the Bitcoin block of the parent; 0x if it is unknown'),
    ({ parentBlock: { burnBlock } }) => toHex(burnBlock.hash),
  ],
  parent_burn_block_time: [UnixTime, ({ parentBlock: { burnBlock } }) => burnBlock.time],
  parent_burn_block_time_iso: [OptionalTime, ({ parentBlock: { burnBlock } }) => timeText(burnBlock.time)],
  parent_burn_block_height: [Height, ({ parentBlock: { burnBlock } }) => burnBlock.height],
  ...txs,
});
