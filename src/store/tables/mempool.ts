/** Tables of the mempool. What each column holds is told in schema.sql. */
import { tableShape } from '../rows/table-shape.ts';

export const mempoolTransactionsTable = tableShape('mempool_transactions', ['tx_id'], {
  tx_id: 'blob',
  state: 'integer',
  received_at: 'integer',
  receipt_block_height: 'integer',
  replaced_by_tx_id: 'blob?',
  type: 'integer',
  sender_id: 'integer',
  nonce: 'integer',
  sponsor_id: 'integer?',
  sponsor_nonce: 'integer?',
  fee: 'text',
  recipient_id: 'integer?',
  amount: 'text?',
  memo: 'blob?',
  contract_id: 'integer?',
  function_name: 'text?',
  clarity_version: 'integer?',
  size: 'integer',
  raw: 'blob',
});

export const minedReceiptsTable = tableShape('mined_receipts', ['position'], {
  position: 'integer',
  received_at: 'integer',
  receipt_block_height: 'integer',
});

export const earlyDropsTable = tableShape('early_drops', ['tx_id'], {
  tx_id: 'blob',
  state: 'integer',
  replaced_by_tx_id: 'blob?',
  height: 'integer',
});

export const pendingPrincipalsTable = tableShape('pending_principals', ['principal_id', 'received_at', 'tx_id'], {
  principal_id: 'integer',
  received_at: 'integer',
  tx_id: 'blob',
});

export const pendingCountsTable = tableShape('pending_counts', ['principal_id'], {
  principal_id: 'integer',
  transactions: 'integer',
});
