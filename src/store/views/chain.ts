/** Views of blocks, transactions, Bitcoin blocks, their rewards, and reward cycles. */

import { DEPLOYMENTS, storedTenureCause } from '../rows/enums.ts';
import { isBegun } from '../rows/expressions.ts';
import {
  amount,
  blockHeight,
  bytes,
  CALL,
  clarityValue,
  fineTime,
  hex,
  integer,
  joinBlock,
  optionalHex,
  PER_SECOND,
  placeColumns,
  positionColumns,
  spentColumns,
  spentJoins,
  statusColumn,
  text,
  time,
  unsigned,
  type ViewColumn,
  view,
  word,
} from './view.ts';

const { block_height, position, tx_id, tx_id_bytes, index_block_hash } = positionColumns;

const costColumns = (table: string): Record<string, ViewColumn> =>
  Object.fromEntries(
    ['runtime', 'read_count', 'read_length', 'write_count', 'write_length'].map((name) => [
      `cost_${name}`,
      integer(`${table}.cost_${name}`, `Execution cost: ${name.replace('_', ' ')}`),
    ]),
  );

const blocks = view({
  name: 'blocks',
  help: 'One row per block of the canonical chain.',
  columns: {
    block_height: blockHeight,
    block_hash: hex('b.block_hash', 'Hash of the block'),
    index_block_hash,
    index_block_hash_bytes: bytes('b.index_block_hash', 'Index block hash as bytes'),
    parent_block_hash: hex('b.parent_block_hash', 'Hash of the parent'),
    parent_index_block_hash: hex('b.parent_index_block_hash', 'Index block hash of the parent'),
    block_time: time('b.block_time', 'Time of the block'),
    block_time_unix: integer('b.block_time', 'Time of the block in Unix seconds'),
    tenure_height: integer('b.tenure_height', 'Height of the tenure; null if the node did not send it'),
    burn_block_height: integer('b.burn_block_height', 'Height of the Bitcoin block that anchors the block'),
    burn_block_hash: hex('b.burn_block_hash', 'Hash of the Bitcoin block'),
    burn_block_time: time('b.burn_block_time', 'Time of the Bitcoin block'),
    miner_tx_id: hex('b.miner_tx_id', 'Bitcoin transaction of the miner'),
    tx_count: integer(
      'b.announced_transactions',
      'Number of transactions as the node counts them, including failed Bitcoin operations, which have no row',
    ),
    size_bytes: integer('b.size', 'Bytes of all raw transactions'),
    ...costColumns('b'),
  },
  from: 'blocks b',
  indexed: ['block_height', 'index_block_hash_bytes', 'block_time_unix'],
  order: ['block_height'],
  range: 'block_height',
});

const transactions = view({
  name: 'transactions',
  help: 'One row per transaction of the canonical chain.',
  columns: {
    ...positionColumns,
    burn_block_height: integer('b.burn_block_height', 'Height of the Bitcoin block that anchors the block'),
    burn_block_time: time('b.burn_block_time', 'Time of the Bitcoin block'),
    status: statusColumn,
    ...spentColumns('t'),
    tenure_change_cause: word('t.tenure_change_cause', storedTenureCause, 'Cause of a tenure change'),
    event_count: integer('t.event_count', 'Number of events'),
    microblock_hash: optionalHex('t.microblock_hash', 'Microblock that held the transaction; null in an anchor block'),
    microblock_sequence: integer('t.microblock_sequence', 'Sequence of the microblock'),
    receipt_time: fineTime(
      'seen.received_at',
      PER_SECOND.microseconds,
      'Time when the mempool first had the transaction; null if it was not announced, or is older than the newest 6,000 blocks',
    ),
    receipt_block_height: integer('seen.receipt_block_height', 'Height of the chain at that time'),
  },
  from: `transactions t ${joinBlock} ${spentJoins('t')}
  LEFT JOIN mined_receipts seen ON seen.position = t.position`,
  indexed: ['block_height', 'position', 'tx_id_bytes', 'sender', 'nonce'],
  order: ['position'],
  range: 'position',
});

const transactionDetails = view({
  name: 'transaction_details',
  help: 'One row per transaction of the canonical chain, with details that lists leave out.',
  columns: {
    block_height,
    position,
    tx_id,
    tx_id_bytes,
    ...costColumns('d'),
    vm_error: text('d.vm_error', 'Error of the Clarity VM'),
    result: clarityValue(hex('d.result', 'Result as a serialized Clarity value')),
    post_conditions: hex(
      'd.post_conditions',
      'Mode byte and list of post-conditions, serialized as in the transaction',
    ),
    contract_interface: text('d.contract_interface', 'Interface of a deployed contract as JSON'),
    raw: hex('d.raw', 'Raw transaction, which has source code, function arguments and signatures'),
  },
  from: `transactions t ${joinBlock} JOIN transaction_bodies d ON d.position = t.position`,
  indexed: ['block_height', 'position', 'tx_id_bytes'],
  order: ['position'],
  range: 'position',
});

const contractCalls = view({
  name: 'contract_calls',
  help: 'One row per call of a contract by a transaction of the canonical chain.',
  columns: {
    ...placeColumns,
    contract_id: text('contract.address', 'Contract that was called'),
    function_name: text('t.function_name', 'Function that was called'),
    status: statusColumn,
    sender: text('sender.address', 'Address that signed the transaction'),
    fee: spentColumns('t').fee,
    result: clarityValue(optionalHex('d.result', 'Result as a serialized Clarity value')),
  },
  from: `transactions t ${joinBlock} JOIN principals sender ON sender.id = t.sender_id
  JOIN principals contract ON contract.id = t.contract_id
  LEFT JOIN transaction_bodies d ON d.position = t.position
 WHERE t.type = ${CALL}`,
  indexed: ['block_height', 'position', 'tx_id_bytes', 'contract_id', 'function_name', 'sender'],
  order: ['position'],
  range: 'position',
});

const contracts = view({
  name: 'contracts',
  help: 'One row per deployment of a contract on the canonical chain, including failed deployments.',
  columns: {
    contract_id: text('contract.address', 'Identifier of the contract'),
    ...placeColumns,
    status: statusColumn,
    clarity_version: integer('t.clarity_version', 'Clarity version that the deployment names'),
    interface: text('d.contract_interface', 'Interface as JSON; null if the node did not send it'),
  },
  from: `transactions t ${joinBlock}
  JOIN principals contract ON contract.id = t.contract_id
  LEFT JOIN transaction_bodies d ON d.position = t.position
 WHERE t.type IN (${DEPLOYMENTS})`,
  indexed: ['contract_id', 'block_height', 'position', 'tx_id_bytes'],
  range: 'position',
});

const orphanedBlocks = view({
  name: 'orphaned_blocks',
  help: 'One row per known block that is not canonical, or block 0.',
  columns: {
    block_height: integer('o.height', 'Height of the block'),
    block_hash: hex('o.block_hash', 'Hash of the block'),
    index_block_hash: hex('o.index_block_hash', 'Index block hash of the block'),
    index_block_hash_bytes: bytes('o.index_block_hash', 'Index block hash as bytes'),
    parent_index_block_hash: hex('o.parent_index_block_hash', 'Index block hash of the parent'),
    burn_block_height: integer('o.burn_block_height', 'Height of the Bitcoin block that anchors the block'),
    burn_block_hash: hex('o.burn_block_hash', 'Hash of the Bitcoin block'),
  },
  from: 'orphaned_blocks o',
  indexed: ['block_height', 'index_block_hash_bytes'],
  order: ['index_block_hash_bytes'],
});

export const chainViews = [blocks, transactions, transactionDetails, contractCalls, contracts, orphanedBlocks];

/** A column of Bitcoin blocks: the first one of a partial history may also anchor older blocks. */
const ofAnchored = (column: string, help: string): ViewColumn =>
  integer(
    `iif(a.first_block = (SELECT start_height FROM progress WHERE id = 1), NULL, a.${column})`,
    `${help}; null for the first Bitcoin block of a partial history`,
  );

const burnBlocks = view({
  name: 'burn_blocks',
  help: 'One row per Bitcoin block that anchors a block of the canonical chain.',
  columns: {
    burn_block_height: integer('a.height', 'Height of the Bitcoin block'),
    burn_block_hash: hex('a.hash', 'Hash of the Bitcoin block'),
    burn_block_hash_bytes: bytes('a.hash', 'Hash as bytes'),
    burn_block_time: time('a.time', 'Time of the Bitcoin block'),
    first_block_height: ofAnchored('first_block', 'Height of the first block that the Bitcoin block anchors'),
    block_count: ofAnchored('blocks', 'Number of blocks that the Bitcoin block anchors'),
    tx_count: ofAnchored('transactions', 'Number of transactions of these blocks as the node counts them'),
  },
  from: 'anchor_burn_blocks a',
  indexed: ['burn_block_height', 'burn_block_hash_bytes'],
  order: ['burn_block_height'],
});

const burnRewards = view({
  name: 'burn_rewards',
  help: 'One row per payment of a Bitcoin block to a stacker.',
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
});

const cycleSigners = view({
  name: 'reward_cycle_signers',
  help: 'One row per signer of a reward cycle.',
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
});

export const bitcoinViews = [burnBlocks, burnRewards, cycleSigners];

export const chain = view({
  name: 'chain',
  help: 'One row: the chain of the file and its tip.',
  columns: {
    chain_id: integer('p.chain_id', 'Chain id: 1 for mainnet'),
    block_height: integer('t.height', 'Height of the newest block; null before the first one'),
    index_block_hash: optionalHex('t.index_block_hash', 'Index block hash of the newest block'),
    burn_block_height: integer('p.burn_block_height', 'Height of the newest Bitcoin block that the node announced'),
    tx_count: integer('coalesce(t.preceding_transactions + t.transactions, 0)', 'Number of rows of `v1_transactions`'),
    stx_supply: amount(
      `iif(${isBegun}, NULL, coalesce(t.stx_supply, '0'))`,
      'Micro-STX that were minted and mined, less burnt ones; null if `history_from` is set',
    ),
    history_from: integer('p.start_height', 'Height of the first block of a partial history; null for the whole chain'),
  },
  from: 'progress p LEFT JOIN blocks t ON t.height = (SELECT max(height) FROM blocks)',
  indexed: [],
});
