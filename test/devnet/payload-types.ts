import type { NodeEvent } from '../../src/devnet/node-event.ts';

/** The parts of `/new_block` the tests look at. */
export interface BlockBody {
  index_block_hash: string;
  parent_index_block_hash: string;
  block_height: number;
  burn_block_hash: string;
  burn_block_height: number;
  burn_block_time: number;
  consensus_hash: string;
  transactions: {
    txid: string;
    raw_tx: string;
    raw_result: string;
    status: string;
    tx_index: number;
    vm_error: string | null;
    execution_cost: object;
    burnchain_op: object | null;
  }[];
  events: { txid: string; event_index: number; type: string }[];
  matured_miner_rewards: { recipient: string; coinbase_amount: string; tx_fees_anchored: string }[];
  reward_set: RewardSetBody | null;
  cycle_number: number | null;
}

export interface DropBody {
  dropped_txids: string[];
  reason: string;
  new_txid: string | null;
}

export function blocksOf(events: readonly NodeEvent[]): BlockBody[] {
  return bodiesOf<BlockBody>(events, '/new_block');
}

export function bodiesOf<T>(events: readonly NodeEvent[], path: string): T[] {
  return events.filter((event) => event.path === path).map(({ body }): T => JSON.parse(body));
}

interface RewardSetBody {
  signers: { signing_key: string; stacked_amt: string }[];
  rewarded_addresses: string[];
}
