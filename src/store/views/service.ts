/** Views of the mempool and of chainhooks. */

import { mempoolStatuses, storedMempoolState, storedReason, storedState, storedStatus } from '../rows/enums.ts';
import { fromHooks, hookNow, isEnabledHook } from '../rows/expressions.ts';
import {
  boolean,
  bytes,
  fineTime,
  hex,
  integer,
  optionalHex,
  PER_SECOND,
  spentColumns,
  spentJoins,
  text,
  type ViewColumn,
  view,
  word,
} from './view.ts';

const mempool = view({
  name: 'mempool_transactions',
  help: 'One row per transaction that was announced and is not on the canonical chain.',
  columns: {
    tx_id: hex('m.tx_id', 'Transaction id'),
    tx_id_bytes: bytes('m.tx_id', 'Transaction id as bytes, which an index finds'),
    status: word('m.state', storedMempoolState, 'Status', (state) => mempoolStatuses[state]),
    receipt_time: fineTime('m.received_at', PER_SECOND.microseconds, 'Time when the transaction arrived'),
    receipt_block_height: integer('m.receipt_block_height', 'Height of the chain at that time'),
    replaced_by_tx_id: optionalHex('m.replaced_by_tx_id', 'Transaction that replaced this one'),
    ...spentColumns('m'),
    size_bytes: integer('m.size', 'Bytes of the raw transaction'),
    raw: hex('m.raw', 'Raw transaction'),
  },
  from: `mempool_transactions m ${spentJoins('m')}`,
  indexed: ['tx_id_bytes', 'sender'],
});

const millisecondTime = (sql: string, help: string): ViewColumn => fineTime(sql, PER_SECOND.milliseconds, help);

const hooks = view({
  name: 'hooks',
  help: 'One row per chainhook, without its URL and filters, which may contain credentials.',
  columns: {
    uuid: text('h.uuid', 'Identifier of the chainhook'),
    consumer: text('h.consumer', 'Owner of the API key that registered the chainhook'),
    name: text("CAST(json_extract(h.definition, '$.name') AS TEXT)", 'Name that its definition gives'),
    status: word(hookNow.status, storedStatus, 'Status'),
    is_enabled: boolean(isEnabledHook, '1 if blocks are evaluated'),
    created_at: millisecondTime('h.created_at', 'Time of the registration'),
    deleted_at: millisecondTime('h.deleted_at', 'Time of the deletion; null for a chainhook that exists'),
    evaluated_block_count: integer(`CAST(${hookNow.evaluated} AS INTEGER)`, 'Blocks that were evaluated'),
    occurrence_count: integer('h.occurrences', 'Blocks that matched'),
    last_evaluated_at: millisecondTime(hookNow.lastEvaluatedAt, 'Time of the last evaluation'),
    last_evaluated_block_height: integer(
      `CAST(${hookNow.lastEvaluatedHeight} AS INTEGER)`,
      'Height of the block that was evaluated last',
    ),
    last_occurrence_at: millisecondTime('h.last_occurrence_at', 'Time of the last match'),
    last_occurrence_block_height: integer('h.last_occurrence_height', 'Height of the last matching block'),
    consecutive_failures: integer('h.consecutive_failures', 'Failed attempts since the last success in any queue'),
    last_delivery_at: millisecondTime('h.last_delivery_at', 'Time of the last attempt'),
    last_delivery_status_code: integer('h.last_delivery_status', 'Status code of the last attempt'),
    interrupted_reason: text('h.interrupted_reason', 'Reason for the interruption'),
  },
  from: fromHooks.replace(/^FROM /, ''),
  indexed: ['uuid'],
});

const hookDeliveries = view({
  name: 'hook_deliveries',
  help: 'One row per delivery of a chainhook, without its body.',
  columns: {
    webhook_id: text('d.webhook_id', 'Identifier that the receiver gets'),
    hook_uuid: text('h.uuid', 'Identifier of the chainhook'),
    state: word('d.state', storedState, 'State'),
    reason: word('d.reason', storedReason, 'Reason'),
    sequence: integer('d.sequence', 'Number of a live delivery'),
    created_at: millisecondTime('d.created_at', 'Time when the delivery was queued'),
    next_attempt_at: millisecondTime('d.next_attempt_at', 'Time of the next attempt'),
    delivered_at: millisecondTime('d.delivered_at', 'Time when the receiver accepted the delivery'),
    attempt_count: integer('d.attempts', 'Number of attempts'),
    min_block_height: integer('d.min_height', 'Lowest height of its blocks'),
    max_block_height: integer('d.max_height', 'Greatest height of its blocks'),
    body_bytes: integer('d.body_bytes', 'Bytes of the body'),
    body_sha256: text('CAST(lower(hex(d.body_sha256)) AS TEXT)', 'SHA-256 of the body'),
    problem: text('d.problem', 'Reason for a missing body'),
  },
  from: 'hook_deliveries d JOIN hooks h ON h.id = d.hook_id',
  indexed: ['webhook_id', 'hook_uuid'],
});

export const serviceViews = [mempool, hooks, hookDeliveries];
