import type { Static } from '@sinclair/typebox';
import { toHex } from '../../../codec/hex.ts';
import type { AnchorBurnBlock, ChainBlock } from '../../../store/model/block.ts';
import { exactNumber } from '../../shared/serialize/values.ts';
import type { AverageTimes, Block, BurnBlock } from '../schemas/block.ts';
import { isoTime } from './values.ts';

export function block(of: ChainBlock): Static<typeof Block> {
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

const hundredths = (seconds: number): number => Math.round(seconds * 100) / 100;

export function averageTimes([hour = 0, day = 0, week = 0, month = 0]: readonly number[]): Static<typeof AverageTimes> {
  return {
    last_1h: hundredths(hour),
    last_24h: hundredths(day),
    last_7d: hundredths(week),
    last_30d: hundredths(month),
  };
}

export function burnBlock(of: AnchorBurnBlock): Static<typeof BurnBlock> {
  return {
    burn_block_time: of.time,
    burn_block_time_iso: isoTime(of.time),
    burn_block_hash: toHex(of.hash),
    burn_block_height: of.height,
    stacks_blocks: of.blocks.map(toHex),
    avg_block_time: Math.trunc(hundredths(of.averageBlockTime)),
    total_tx_count: of.transactions,
  };
}
