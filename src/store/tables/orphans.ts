/** Tables beside the chain: blocks that are not canonical, payloads, and microblocks that were streamed. What each column holds is told in schema.sql. */
import { tableShape } from '../rows/table-shape.ts';

export const orphanedBlocksTable = tableShape('orphaned_blocks', ['index_block_hash'], {
  index_block_hash: 'blob',
  height: 'integer',
  parent_index_block_hash: 'blob',
  block_hash: 'blob',
  burn_block_hash: 'blob',
  burn_block_height: 'integer',
});

export const orphanedTransactionsTable = tableShape('orphaned_transactions', ['tx_id', 'index_block_hash'], {
  tx_id: 'blob',
  index_block_hash: 'blob',
  contract: 'text?',
});

export const blockPayloadsTable = tableShape('block_payloads', ['index_block_hash'], {
  index_block_hash: 'blob',
  journal_id: 'integer',
});

export const streamedMicroblocksTable = tableShape('streamed_microblocks', ['microblock_hash'], {
  microblock_hash: 'blob',
  sequence: 'integer',
  parent_hash: 'blob',
  parent_index_block_hash: 'blob',
  accepted: 'integer',
  tx_ids: 'blob',
  received_at: 'integer',
  journal_id: 'integer',
});
