/** Tables of the canonical chain: blocks, transactions, events, and what principals have of them. What each column holds is told in schema.sql. */
import { tableShape } from '../rows/table-shape.ts';

export const blocksTable = tableShape('blocks', ['height'], {
  height: 'integer',
  index_block_hash: 'blob',
  block_hash: 'blob',
  parent_index_block_hash: 'blob',
  parent_block_hash: 'blob',
  block_time: 'integer',
  burn_block_hash: 'blob',
  burn_block_height: 'integer',
  burn_block_time: 'integer',
  parent_burn_block_time: 'integer?',
  miner_tx_id: 'blob',
  parent_microblock_hash: 'blob',
  parent_microblock_sequence: 'integer',
  tenure_height: 'integer?',
  announced_transactions: 'integer',
  transactions: 'integer',
  preceding_transactions: 'integer',
  size: 'integer',
  cost_runtime: 'integer',
  cost_read_count: 'integer',
  cost_read_length: 'integer',
  cost_write_count: 'integer',
  cost_write_length: 'integer',
  signer_bits: 'text?',
  signer_signatures: 'blob?',
  pox_1_unlock_height: 'integer?',
  pox_2_unlock_height: 'integer?',
  pox_3_unlock_height: 'integer?',
  pox_4_unlock_height: 'integer?',
});

export const anchorBurnBlocksTable = tableShape('anchor_burn_blocks', ['ordinal'], {
  ordinal: 'integer',
  hash: 'blob',
  height: 'integer',
  time: 'integer',
  first_block: 'integer',
  blocks: 'integer',
  transactions: 'integer',
  rows: 'integer',
});

export const transactionsTable = tableShape('transactions', ['position'], {
  position: 'integer',
  tx_id: 'blob',
  tx_index: 'integer',
  type: 'integer',
  status: 'integer',
  sender_id: 'integer',
  nonce: 'integer?',
  sponsor_id: 'integer?',
  sponsor_nonce: 'integer?',
  fee: 'text',
  event_count: 'integer',
  recipient_id: 'integer?',
  amount: 'text?',
  memo: 'blob?',
  contract_id: 'integer?',
  function_name: 'text?',
  clarity_version: 'integer?',
  tenure_change_cause: 'integer?',
  microblock_sequence: 'integer?',
  microblock_hash: 'blob?',
  microblock_parent_hash: 'blob?',
  genesis_block_time: 'integer?',
});

export const transactionTypesTable = tableShape('transaction_types', ['type'], {
  type: 'integer',
  transactions: 'integer',
});

export const calledFunctionsTable = tableShape('called_functions', ['name'], {
  name: 'text',
  calls: 'integer',
});

export const microblocksTable = tableShape('microblocks', ['ordinal'], {
  ordinal: 'integer',
  hash: 'blob',
  parent_hash: 'blob',
  sequence: 'integer',
  height: 'integer',
});

export const transactionBodiesTable = tableShape('transaction_bodies', ['position'], {
  position: 'integer',
  anchor_mode: 'integer',
  cost_runtime: 'integer',
  cost_read_count: 'integer',
  cost_read_length: 'integer',
  cost_write_count: 'integer',
  cost_write_length: 'integer',
  vm_error: 'text?',
  result: 'blob',
  post_conditions: 'blob',
  function_args: 'blob?',
  genesis_parent_index_block_hash: 'blob?',
  genesis_parent_burn_block_time: 'integer?',
  contract_interface: 'text?',
  raw: 'blob',
});

export const contractsTable = tableShape('contracts', ['contract_id', 'position'], {
  contract_id: 'integer',
  position: 'integer',
});

export const declaredFunctionsTable = tableShape('declared_functions', ['name', 'position'], {
  name: 'text',
  position: 'integer',
});

export const eventsTable = tableShape('events', ['position', 'event_index'], {
  position: 'integer',
  event_index: 'integer',
  kind: 'integer',
  sender_id: 'integer?',
  recipient_id: 'integer?',
  asset_id: 'integer?',
  contract_id: 'integer?',
  topic: 'text?',
  amount: 'text?',
  unlock_height: 'integer?',
  value: 'blob?',
});

export const contractLogsTable = tableShape('contract_logs', ['contract_id'], {
  contract_id: 'integer',
  logs: 'integer',
});

export const principalTransactionsTable = tableShape('principal_transactions', ['principal_id', 'position'], {
  principal_id: 'integer',
  position: 'integer',
  affected: 'integer',
  events: 'integer',
  stx_sent: 'text',
  stx_received: 'text',
});

export const memoTransfersTable = tableShape('memo_transfers', ['principal_id', 'position', 'event_index'], {
  principal_id: 'integer',
  position: 'integer',
  event_index: 'integer',
  printed: 'integer',
});

export const stxLocksTable = tableShape('stx_locks', ['principal_id', 'position', 'event_index'], {
  principal_id: 'integer',
  position: 'integer',
  event_index: 'integer',
  amount: 'text?',
  unlock_height: 'integer',
  pox_version: 'integer',
});

export const minerRewardsTable = tableShape('miner_rewards', ['height', 'reward_index'], {
  height: 'integer',
  reward_index: 'integer',
  recipient_id: 'integer',
  miner_id: 'integer',
  coinbase: 'text',
  fees_anchored: 'text',
  fees_streamed_confirmed: 'text',
  fees_streamed_produced: 'text',
  from_block_hash: 'blob',
  from_index_block_hash: 'blob',
});

export const stxSuppliesTable = tableShape('stx_supplies', ['height'], {
  height: 'integer',
  supply: 'text',
});
