/** Blocks and the state of the simulated node, as its routes answer them. */
import { Type } from '@sinclair/typebox';
import type { Block } from '../../devnet/block.ts';
import type { BurnBlock } from '../../devnet/burn-chain.ts';
import type { SimulatedNode } from '../../devnet/node.ts';
import { Amount, Hash, Height, nullable, object, UnixTime } from '../shared/fields.ts';

export const [DevnetBlock, devnetBlock] = object<Block>('DevnetBlock')({
  height: [Height, ({ height }) => height],
  hash: [Hash, ({ blockHash }) => blockHash],
  index_block_hash: [Hash, ({ indexBlockHash }) => indexBlockHash],
  parent_index_block_hash: [nullable(Hash), ({ parent }) => parent],
  time: [UnixTime, ({ time }) => time],
  tenure_height: [Height, ({ tenure }) => tenure.height],
  bitcoin_height: [
    Type.Integer({ minimum: 0, description: 'Height of the Bitcoin block that elected the tenure' }),
    ({ burn }) => burn.height,
  ],
  bitcoin_hash: [Hash, ({ burn }) => burn.hash],
  transactions: [
    Type.Array(Hash, { description: 'Ids, including the transactions that the miner creates' }),
    ({ receipts }) => receipts.map(({ txId }) => txId),
  ],
});

export const [DevnetBitcoinBlock, devnetBitcoinBlock] = object<BurnBlock>('DevnetBitcoinBlock')({
  height: [Height, ({ height }) => height],
  hash: [Hash, ({ hash }) => hash],
  time: [UnixTime, ({ time }) => time],
});

const [ShownSnapshot, shownSnapshot] = object<SimulatedNode['snapshots'][number]>('DevnetSnapshot')({
  name: [Type.String(), ({ name }) => name],
  height: [Height, ({ block }) => block.height],
  index_block_hash: [Hash, ({ block }) => block.indexBlockHash],
});

/** Returns the micro-STX that an account can spend after the tip. */
const balanceOf = ({ tip }: SimulatedNode, account: string): string =>
  String(tip.world.spendable(account, tip.burnView.height));

export const [State, stateOf] = object<SimulatedNode>('Devnet')({
  seed: [Type.Integer(), ({ options }) => options.seed],
  network: [Type.String(), ({ chain }) => chain.network.name],
  chain_id: [Type.Integer(), ({ chain }) => chain.network.chainId],
  tip: [DevnetBlock, ({ tip }) => devnetBlock(tip)],
  bitcoin: [DevnetBitcoinBlock, ({ tip }) => devnetBitcoinBlock(tip.burnView)],
  cycle: object<SimulatedNode>()({
    number: [Type.Integer(), ({ chain: { cycles }, tip }) => cycles.of(tip.burnView.height)],
    length: [Type.Integer({ description: 'Bitcoin blocks' }), ({ chain }) => chain.cycles.length],
    blocks_left: [
      Type.Integer({ description: 'Bitcoin blocks until the next cycle begins' }),
      ({ chain: { cycles }, tip }) => {
        const { height } = tip.burnView;
        return cycles.startOf(cycles.of(height) + 1) - height;
      },
    ],
  }),
  interval: [
    Type.Integer({ description: 'Seconds between two blocks; 0 mines only on request' }),
    ({ interval }) => interval,
  ],
  pending: [
    Type.Array(Hash, { description: 'Ids of broadcast transactions that wait' }),
    ({ pending }) => pending.map(({ id }) => id),
  ],
  snapshots: [
    Type.Array(ShownSnapshot, { description: 'Snapshots that the chain can revert to by name' }),
    ({ snapshots }) => snapshots.map(shownSnapshot),
  ],
  faucet: object<SimulatedNode>()({
    address: [Type.String(), ({ faucet }) => faucet.address],
    balance: [Amount, (node) => balanceOf(node, node.faucet.address)],
  }),
  accounts: [
    Type.Array(Type.Object({ name: Type.String(), address: Type.String(), balance: Amount }), {
      description: 'Accounts of the Clarinet project; none if contracts are simulated',
    }),
    (node) =>
      (node.options.accounts ?? []).map(({ name, address }) => ({ name, address, balance: balanceOf(node, address) })),
  ],
});
