/** Tables of Bitcoin blocks and what they paid. What each column holds is told in schema.sql. */
import { tableShape } from '../rows/table-shape.ts';

export const burnBlocksTable = tableShape('burn_blocks', ['height'], {
  height: 'integer',
  hash: 'blob',
  parent_hash: 'blob?',
  payload: 'blob',
});

export const burnRewardsTable = tableShape('burn_rewards', ['ordinal'], {
  ordinal: 'integer',
  height: 'integer',
  reward_index: 'integer',
  recipient: 'text',
  recipient_ordinal: 'integer',
  amount: 'text',
  recipient_total: 'text',
  burn_amount: 'text',
});

export const burnSlotHoldersTable = tableShape('burn_slot_holders', ['ordinal'], {
  ordinal: 'integer',
  height: 'integer',
  slot_index: 'integer',
  address: 'text',
  address_ordinal: 'integer',
});

export const poxTransactionsTable = tableShape('pox_transactions', ['height', 'tx_id', 'output_index'], {
  height: 'integer',
  tx_id: 'blob',
  output_index: 'integer',
  recipient: 'text',
  recipient_ordinal: 'integer',
  amount: 'text',
});

export const orphanedBurnBlocksTable = tableShape('orphaned_burn_blocks', ['hash'], {
  hash: 'blob',
  height: 'integer',
  parent_hash: 'blob?',
  payload: 'blob',
});
