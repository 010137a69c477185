/** Blocks and the state of the simulated node, as its routes answer them. */
import { Type } from '@sinclair/typebox';
import type { Block } from '../../devnet/block.ts';
import type { BurnBlock } from '../../devnet/burn-chain.ts';
import type { SimulatedNode } from '../../devnet/node.ts';
import { Amount, Hash, Height, nullable, UnixTime } from '../shared/values.ts';

export const ShownBlock = Type.Object(
  {
    height: Height,
    hash: Hash,
    index_block_hash: Hash,
    parent_index_block_hash: nullable(Hash),
    time: UnixTime,
    tenure_height: Height,
    bitcoin_height: Type.Integer({ minimum: 0, description: 'Height of the Bitcoin block that elected the tenure' }),
    bitcoin_hash: Hash,
    transactions: Type.Array(Hash, { description: 'Ids, including the transactions that the miner creates' }),
  },
  { $id: 'DevnetBlock' },
);

/** Serializes a block. */
export const shown = (block: Block) => ({
  height: block.height,
  hash: block.blockHash,
  index_block_hash: block.indexBlockHash,
  parent_index_block_hash: block.parent,
  time: block.time,
  tenure_height: block.tenure.height,
  bitcoin_height: block.burn.height,
  bitcoin_hash: block.burn.hash,
  transactions: block.receipts.map(({ txId }) => txId),
});
export const ShownBitcoinBlock = Type.Object(
  { height: Height, hash: Hash, time: UnixTime },
  { $id: 'DevnetBitcoinBlock' },
);
export const shownBitcoin = ({ height, hash, time }: BurnBlock) => ({ height, hash, time });
const ShownSnapshot = Type.Object(
  { name: Type.String(), height: Height, index_block_hash: Hash },
  { $id: 'DevnetSnapshot' },
);

export const State = Type.Object(
  {
    seed: Type.Integer(),
    network: Type.String(),
    chain_id: Type.Integer(),
    tip: ShownBlock,
    bitcoin: ShownBitcoinBlock,
    cycle: Type.Object({
      number: Type.Integer(),
      length: Type.Integer({ description: 'Bitcoin blocks' }),
      blocks_left: Type.Integer({ description: 'Bitcoin blocks until the next cycle begins' }),
    }),
    interval: Type.Integer({ description: 'Seconds between two blocks; 0 mines only on request' }),
    pending: Type.Array(Hash, { description: 'Ids of broadcast transactions that wait' }),
    snapshots: Type.Array(ShownSnapshot, { description: 'Snapshots that the chain can revert to by name' }),
    faucet: Type.Object({ address: Type.String(), balance: Amount }),
    accounts: Type.Array(Type.Object({ name: Type.String(), address: Type.String(), balance: Amount }), {
      description: 'Accounts of the Clarinet project; none if contracts are simulated',
    }),
  },
  { $id: 'Devnet' },
);

export function stateOf(node: SimulatedNode) {
  const { chain, tip, interval } = node;
  const { cycles } = chain;
  const { height } = tip.burnView;
  const { address } = node.faucet;
  const balanceOf = (account: string): string => String(tip.world.spendable(account, height));
  return {
    seed: node.options.seed,
    network: chain.network.name,
    chain_id: chain.network.chainId,
    tip: shown(tip),
    bitcoin: shownBitcoin(tip.burnView),
    cycle: {
      number: cycles.of(height),
      length: cycles.length,
      blocks_left: cycles.startOf(cycles.of(height) + 1) - height,
    },
    interval,
    pending: node.pending.map(({ id }) => id),
    snapshots: node.snapshots.map(({ name, block }) => ({
      name,
      height: block.height,
      index_block_hash: block.indexBlockHash,
    })),
    faucet: { address, balance: balanceOf(address) },
    accounts: (node.options.accounts ?? []).map(({ name, address: own }) => ({
      name,
      address: own,
      balance: balanceOf(own),
    })),
  };
}
