/** Views of Bitcoin blocks, of what they paid to stackers, and of reward cycles. */
import { amount, bytes, hex, integer, optionalHex, text, time, unsigned, view } from './view.ts';

export const burnBlocks = view({
  name: 'burn_blocks',
  help: 'One row is a Bitcoin block that anchors a block of the canonical chain.',
  columns: {
    burn_block_height: integer('a.height', 'Height of the Bitcoin block'),
    burn_block_hash: hex('a.hash', 'Hash of the Bitcoin block'),
    burn_block_hash_bytes: bytes('a.hash', 'Hash as bytes, which an index finds'),
    burn_block_time: time('a.time', 'Time of the Bitcoin block'),
    first_block_height: integer('a.first_block', 'Height of the first block that the Bitcoin block anchors'),
    block_count: integer('a.blocks', 'Number of blocks that the Bitcoin block anchors'),
    tx_count: integer('a.transactions', 'Number of their transactions as the node counts them'),
  },
  from: 'anchor_burn_blocks a',
  indexed: ['burn_block_height', 'burn_block_hash_bytes'],
  order: ['burn_block_height'],
  range: null,
});

export const burnRewards = view({
  name: 'burn_rewards',
  help: 'One row is a payment of a Bitcoin block to a stacker.',
  columns: {
    burn_block_height: integer('r.height', 'Height of the Bitcoin block'),
    burn_block_hash: hex('b.hash', 'Hash of the Bitcoin block'),
    reward_index: integer('r.reward_index', 'Place among the rewards of the Bitcoin block'),
    recipient: text('r.recipient', 'Bitcoin address'),
    amount: amount('r.amount', 'Payment in sats'),
    burn_amount: amount('r.burn_amount', 'Sats that the miners of the block burnt'),
  },
  from: 'burn_rewards r JOIN burn_blocks b ON b.height = r.height',
  indexed: ['burn_block_height', 'recipient'],
  order: [],
  range: null,
});

export const cycleSigners = view({
  name: 'reward_cycle_signers',
  help: 'One row is a signer of a reward cycle.',
  columns: {
    cycle: integer('s.cycle', 'Number of the reward cycle'),
    signer_key: hex('s.signer_key', 'Public key of the signer'),
    signer_key_bytes: bytes('s.signer_key', 'Public key as bytes'),
    weight: integer('s.weight', 'Weight of the signer'),
    stacked: amount(unsigned('s.stacked'), 'Micro-STX that are stacked for the signer'),
    cycle_weight: integer('c.weight', 'Weight of all signers of the cycle'),
    cycle_stacked: amount('c.stacked', 'Micro-STX that are stacked in the cycle'),
    block_height: integer('c.height', 'Height of the block that chose the signers'),
  },
  from: 'cycle_signers s JOIN reward_cycles c ON c.cycle = s.cycle',
  indexed: ['cycle'],
  order: [],
  range: null,
});

export const bitcoinViews = [burnBlocks, burnRewards, cycleSigners];

/** The one row that says which chain the file is of. */
export const chain = view({
  name: 'chain',
  help: 'The one row says which chain the file has, and how far.',
  columns: {
    chain_id: integer('p.chain_id', 'Chain id: 1 for mainnet'),
    block_height: integer('t.height', 'Height of the newest block; null before the first one'),
    index_block_hash: optionalHex('t.index_block_hash', 'Index block hash of the newest block'),
    burn_block_height: integer('p.burn_block_height', 'Height of the newest Bitcoin block that the node announced'),
    tx_count: integer('s.transactions', 'Number of rows of `v1_transactions`'),
    stx_supply: amount('s.stx_supply', 'Micro-STX that were minted and mined, less those that were burnt'),
  },
  from: `progress p JOIN totals s ON s.id = p.id
  LEFT JOIN blocks t ON t.height = (SELECT max(height) FROM blocks)`,
  indexed: [],
  order: [],
  range: null,
});
