/** Statuses of transactions. */
import { words } from './values.ts';

/** Statuses of a transaction that a block holds; `unknown` is one that a newer node gave. */
export const executedStatuses = {
  ...words('success', 'abort_by_response', 'abort_by_post_condition', 'problematic_skipped', 'unknown'),
  $id: 'TransactionStatus',
};
/** Statuses of a transaction that is pending, or was dropped from the mempool. */
export const waitingStatuses = {
  ...words(
    'pending',
    'dropped_replace_by_fee',
    'dropped_replace_across_fork',
    'dropped_too_expensive',
    'dropped_stale_garbage_collect',
    'dropped_problematic',
  ),
  $id: 'MempoolTransactionStatus',
};
