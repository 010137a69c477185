import type { Static } from '@sinclair/typebox';
import { toHex } from '../../../codec/hex.ts';
import type { ChainBlock } from '../../../store/model/block.ts';
import type { ChainBlock as BlockSchema } from '../schemas/chain-block.ts';
import { exactNumber, isoTime } from './values.ts';

/** A block of the canonical chain as v2 returns it. Times are Unix seconds. */
export function chainBlock(of: ChainBlock): Static<typeof BlockSchema> {
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
