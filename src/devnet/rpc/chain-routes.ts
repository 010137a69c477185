/** What a node says of itself and of its chain. */
import { clarityRepr } from '../../codec/clarity-repr.ts';
import { jsonInteger } from '../json-integer.ts';
import { MAX_FORK_DEPTH } from '../node.ts';
import { cycles, SLOT } from '../pox.ts';
import { bare, RpcError, type RpcRequest, type RpcRoute } from './rpc-route.ts';

const noHash = '00'.repeat(32);
/** Limits of a tenure on the public networks. */
const blockLimit = {
  read_count: 15_000,
  read_length: 100_000_000,
  runtime: 5_000_000_000,
  write_count: 15_000,
  write_length: 15_000_000,
};
const LAST_HEIGHT = 2n ** 63n - 1n;
function info({ node, block }: RpcRequest) {
  const consensus = block.burnView.consensusHash.toHex();
  const stable = block.burnView.parent ?? block.burnView;
  return {
    peer_version: 4_207_599_116,
    pox_consensus: consensus,
    burn_block_height: block.burnView.height,
    stable_pox_consensus: stable.consensusHash.toHex(),
    stable_burn_block_height: stable.height,
    server_version: 'stacks-node simulated by Stackside',
    network_id: node.chain.network.chainId,
    parent_network_id: 3_669_344_250,
    stacks_tip_height: block.height,
    stacks_tip: bare(block.blockHash),
    stacks_tip_consensus_hash: block.burn.consensusHash.toHex(),
    genesis_chainstate_hash: noHash,
    unanchored_tip: null,
    unanchored_seq: null,
    tenure_height: block.tenure.height,
    exit_at_block_height: null,
    is_fully_synced: true,
    node_public_key: null,
    node_public_key_hash: null,
    last_pox_anchor: null,
    stackerdbs: [],
  };
}

/** One version of the stacking contract, from a burn height on: its first cycle is the next that begins. */
const version = (contract: string, activation: number) => ({
  contract_id: contract,
  activation_burnchain_block_height: activation,
  first_reward_cycle_id: Math.ceil(activation / cycles.length),
});

function pox({ node, block }: RpcRequest) {
  const { boot } = node.chain.network;
  const { height } = block.burnView;
  const id = cycles.of(height);
  const next = cycles.startOf(id + 1);
  const prepare = cycles.prepareStartOf(id + 1);
  const { pox5Height } = block.world;
  const supply = block.world.supply();
  const slot = Number(SLOT);
  // A version that is never active is none that a node knows.
  const later = pox5Height === undefined || pox5Height === Number.POSITIVE_INFINITY ? [] : [pox5Height];
  const stacked = jsonInteger(block.world.stacked(height));
  return {
    contract_id: `${boot}.${block.world.isActive('pox-4', height) ? 'pox-4' : 'pox-5'}`,
    pox_activation_threshold_ustx: 0,
    first_burnchain_block_height: 0,
    current_burnchain_block_height: height,
    current_epoch: 'Epoch33',
    prepare_phase_block_length: cycles.prepareLength,
    reward_phase_block_length: cycles.length - cycles.prepareLength,
    reward_slots: 2 * (cycles.length - cycles.prepareLength),
    rejection_fraction: null,
    total_liquid_supply_ustx: jsonInteger(supply),
    current_cycle: { id, min_threshold_ustx: slot, stacked_ustx: stacked, is_pox_active: true },
    next_cycle: {
      id: id + 1,
      min_threshold_ustx: slot,
      min_increment_ustx: jsonInteger(supply / 5_000n),
      stacked_ustx: stacked,
      prepare_phase_start_block_height: prepare,
      blocks_until_prepare_phase: prepare - height,
      reward_phase_start_block_height: next,
      blocks_until_reward_phase: next - height,
      ustx_until_pox_rejection: null,
    },
    epochs: [
      {
        epoch_id: 'Epoch33',
        start_height: 0,
        end_height: jsonInteger(LAST_HEIGHT),
        block_limit: blockLimit,
        network_epoch: 14,
      },
    ],
    min_amount_ustx: slot,
    prepare_cycle_length: cycles.prepareLength,
    reward_cycle_id: id,
    reward_cycle_length: cycles.length,
    rejection_votes_left_required: null,
    next_reward_cycle_in: next - height,
    contract_versions: [version(`${boot}.pox-4`, 0), ...later.map((at) => version(`${boot}.pox-5`, at))],
  };
}

function tenure({ block }: RpcRequest) {
  const { consensusHash, parentConsensusHash, indexBlockHash, parentIndexBlockHash } = block.tenure;
  return {
    consensus_hash: consensusHash.toHex(),
    tenure_start_block_id: bare(indexBlockHash),
    parent_consensus_hash: parentConsensusHash?.toHex() ?? '00'.repeat(20),
    parent_tenure_start_block_id: bare(parentIndexBlockHash ?? noHash),
    tip_block_id: bare(block.indexBlockHash),
    tip_height: block.height,
    reward_cycle: cycles.of(block.burn.height),
  };
}

function transaction({ node, params: [wanted = ''] }: RpcRequest) {
  const id = `0x${bare(wanted).toLowerCase()}`;
  for (const { receipts, indexBlockHash } of node.chain.ancestors(node.tip)) {
    const receipt = receipts.find(({ txId }) => txId === id);
    if (receipt === undefined) continue;
    return {
      index_block_hash: bare(indexBlockHash),
      tx: bare(receipt.rawTx),
      result: clarityRepr(receipt.result),
    };
  }
  throw new RpcError(404, `The last ${MAX_FORK_DEPTH} blocks have no transaction ${bare(id)}`);
}

export const chainRoutes: readonly RpcRoute[] = [
  { method: 'GET', path: '/v2/info', answer: info },
  { method: 'GET', path: '/v2/pox', answer: pox },
  {
    method: 'GET',
    path: '/v2/neighbors',
    answer: () => ({ bootstrap: [], sample: [], inbound: [], outbound: [] }),
  },
  {
    method: 'GET',
    path: '/v3/health',
    answer: ({ block: { height } }) => ({
      difference_from_max_peer: 0,
      max_stacks_height_of_neighbors: height,
      node_stacks_tip_height: height,
    }),
  },
  { method: 'GET', path: '/v3/tenures/info', answer: tenure },
  { method: 'GET', path: '/v3/transaction/*', answer: transaction },
];
