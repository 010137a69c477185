/** A row of hooks, and the record that it is. */

import { storedStage, storedStatus } from '../rows/hook-words.ts';
import type { Stored } from '../rows/table-shape.ts';
import type { hooksTable } from '../tables/hooks.ts';
import type { HookRecord } from './model.ts';

/** A hook as it is read: of a live one, with what `hook_progress` knows. */
export type RecordRow = Omit<
  Stored<typeof hooksTable, keyof (typeof hooksTable)['columns']>,
  'url' | 'joined' | 'expires_at' | 'deleted_at'
>;

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
