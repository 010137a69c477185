import { Type } from '@sinclair/typebox';
import { Hash, Height, IsoTime, Uint64, UnixTime } from './values.ts';

/** A block as v2 shows it, and as the blocks of v1 begin. */
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
