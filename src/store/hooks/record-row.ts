/** A row of hooks, and the record that it is. */
import type { Stored } from '../rows/table-shape.ts';
import type { hooksTable } from '../tables/hooks.ts';
import { type HookRecord, storedStage, storedStatus } from './model.ts';

const LIVE = storedStage.numberOf('live');
const NEW = storedStatus.numberOf('new');
const STREAMING = storedStatus.numberOf('streaming');

/** A hook as it is read: of a live one, with what `hook_progress` knows. */
export type RecordRow = Omit<
  Stored<typeof hooksTable, keyof (typeof hooksTable)['columns']>,
  'url' | 'joined' | 'expires_at' | 'deleted_at'
>;

// For a live hook, hook_progress stands in for the columns of its row.
const SINCE = `(h.stage = ${LIVE} AND p.evaluated > h.joined)`;
/** The status of hook h, with hook_progress p. */
export const statusNow = `CASE WHEN h.status = ${NEW} AND ${SINCE} THEN ${STREAMING} ELSE h.status END`;
/** The columns of a row, of hooks h and hook_progress p. */
export const recordColumns = `h.id, h.uuid, h.consumer, h.created_at, h.definition, h.stage,
       ${statusNow} AS status,
       iif(h.stage = ${LIVE}, p.cursor_height, h.cursor_height) AS cursor_height,
       iif(h.stage = ${LIVE}, p.cursor_hash, h.cursor_hash) AS cursor_hash,
       h.evaluated + iif(${SINCE}, p.evaluated - h.joined, 0) AS evaluated,
       h.occurrences, h.window_evaluated, h.window_occurrences,
       iif(${SINCE}, p.evaluated_at, h.last_evaluated_at) AS last_evaluated_at,
       iif(${SINCE}, p.cursor_height, h.last_evaluated_height) AS last_evaluated_height,
       h.last_occurrence_at, h.last_occurrence_height, h.sequence, h.interrupted_reason, h.stuck_delivery,
       h.consecutive_failures, h.last_delivery_at, h.last_delivery_status`;
export const fromHooks = 'FROM hooks h CROSS JOIN hook_progress p';

/** @throws UnknownNumberError */
export const recordOf = (row: RecordRow): HookRecord => ({
  id: row.id,
  uuid: row.uuid,
  consumer: row.consumer,
  createdAt: row.created_at,
  definition: row.definition,
  stage: storedStage.wordOf(row.stage, row.id),
  status: storedStatus.wordOf(row.status, row.id),
  cursor: { height: row.cursor_height, hash: row.cursor_hash },
  evaluated: row.evaluated,
  occurrences: row.occurrences,
  windowEvaluated: row.window_evaluated,
  windowOccurrences: row.window_occurrences,
  lastEvaluatedAt: row.last_evaluated_at,
  lastEvaluatedHeight: row.last_evaluated_height,
  lastOccurrenceAt: row.last_occurrence_at,
  lastOccurrenceHeight: row.last_occurrence_height,
  sequence: row.sequence,
  interruptedReason: row.interrupted_reason,
  stuckDelivery: row.stuck_delivery,
  consecutiveFailures: row.consecutive_failures,
  lastDeliveryAt: row.last_delivery_at,
  lastDeliveryStatus: row.last_delivery_status,
});
