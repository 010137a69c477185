/** Tables of chainhooks. What each column holds is told in schema.sql. */
import { tableShape } from '../rows/table-shape.ts';

export const hooksTable = tableShape('hooks', ['id'], {
  id: 'id',
  uuid: 'text',
  consumer: 'text',
  created_at: 'integer',
  definition: 'text',
  url: 'text',
  stage: 'integer',
  status: 'integer',
  cursor_height: 'integer',
  cursor_hash: 'blob',
  evaluated: 'integer',
  occurrences: 'integer',
  joined: 'integer',
  window_evaluated: 'integer',
  window_occurrences: 'integer',
  expires_at: 'integer?',
  last_evaluated_at: 'integer?',
  last_evaluated_height: 'integer?',
  last_occurrence_at: 'integer?',
  last_occurrence_height: 'integer?',
  sequence: 'integer',
  interrupted_reason: 'text?',
  stuck_delivery: 'integer?',
  consecutive_failures: 'integer',
  last_delivery_at: 'integer?',
  last_delivery_status: 'integer?',
  deleted_at: 'integer?',
});

export const hookSecretsTable = tableShape('hook_secrets', ['consumer'], {
  consumer: 'text',
  secret: 'blob',
  previous: 'blob?',
  rotated_at: 'integer',
});

export const hookDeliveriesTable = tableShape('hook_deliveries', ['id'], {
  id: 'id',
  webhook_id: 'text',
  hook_id: 'integer',
  lane: 'integer',
  reason: 'integer',
  sequence: 'integer?',
  state: 'integer',
  created_at: 'integer',
  next_attempt_at: 'integer?',
  delivered_at: 'integer?',
  tried_since: 'integer?',
  attempts: 'integer',
  blocks: 'text',
  min_height: 'integer',
  max_height: 'integer',
  body_bytes: 'integer',
  body_sha256: 'blob',
  backfill_id: 'integer?',
  problem: 'text?',
});

export const hookBodiesTable = tableShape('hook_bodies', ['delivery_id'], {
  delivery_id: 'integer',
  body: 'blob',
});

export const hookAttemptsTable = tableShape('hook_attempts', ['delivery_id', 'attempt'], {
  delivery_id: 'integer',
  attempt: 'integer',
  at: 'integer',
  duration_ms: 'integer',
  url_host: 'text',
  status_code: 'integer?',
  error: 'text?',
  excerpt: 'text?',
});

export const hookLedgerTable = tableShape('hook_ledger', ['index_block_hash', 'hook_id'], {
  index_block_hash: 'blob',
  hook_id: 'integer',
  height: 'integer',
  burn_block_height: 'integer',
  places: 'text',
});

export const hookBackfillsTable = tableShape('hook_backfills', ['id'], {
  id: 'id',
  uuid: 'text',
  hook_id: 'integer',
  state: 'integer',
  dry_run: 'integer',
  from_height: 'integer',
  to_height: 'integer',
  next_height: 'integer',
  matched_blocks: 'integer',
  matched_transactions: 'integer',
  queued: 'integer',
  delivered: 'integer',
  dead: 'integer',
  created_at: 'integer',
  finished_at: 'integer?',
  error: 'text?',
});
