import type { Static } from '@sinclair/typebox';
import { toHex } from '../../../codec/hex.ts';
import type { AnchorBurnBlock } from '../../../store/model/block.ts';
import { isoTime } from '../../shared/values.ts';
import type { AverageTimes, BurnBlock } from '../schemas/block.ts';

const hundredths = (seconds: number): number => Math.round(seconds * 100) / 100;

/** Average seconds between blocks over the last hour, day, 7 and 30 days, rounded to hundredths. */
export function averageTimes([hour = 0, day = 0, week = 0, month = 0]: readonly number[]): Static<typeof AverageTimes> {
  return {
    last_1h: hundredths(hour),
    last_24h: hundredths(day),
    last_7d: hundredths(week),
    last_30d: hundredths(month),
  };
}

/** A Bitcoin block with the Stacks blocks anchored in it. The average time is in whole seconds. */
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
