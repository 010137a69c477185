import { Type } from '@sinclair/typebox';
import { Hash, Height, Uint64, UnixTime } from '../../shared/schemas/values.ts';
import { IsoTime } from './values.ts';

export const Block = Type.Object({
  canonical: Type.Literal(true),
  height: Height,
  hash: Hash,
  block_time: UnixTime,
  block_time_iso: IsoTime,
  tenure_height: Type.Integer({ description: '-1 where the node does not say it' }),
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
});

const seconds = Type.Number({ minimum: 0 });

/** Mean seconds between blocks. */
export const AverageTimes = Type.Object({
  last_1h: seconds,
  last_24h: seconds,
  last_7d: seconds,
  last_30d: seconds,
});

export const BurnBlock = Type.Object({
  burn_block_time: UnixTime,
  burn_block_time_iso: IsoTime,
  burn_block_hash: Hash,
  burn_block_height: Height,
  stacks_blocks: Type.Array(Hash, { description: 'Hashes of the blocks anchored to it, the highest first' }),
  avg_block_time: Type.Integer({ description: 'Mean seconds between those blocks; 0 where there is one' }),
  total_tx_count: Type.Integer({ minimum: 0, description: 'Transactions of those blocks' }),
});
