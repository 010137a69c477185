/** A row of hook_deliveries, and the delivery that it is. */

import { storedLane, storedReason, storedState } from '../rows/hook-words.ts';
import type { Stored } from '../rows/table-shape.ts';
import { hookDeliveriesTable } from '../tables/hooks.ts';
import type { Delivery, NotifiedBlocks } from './model.ts';

const shown = Object.keys(hookDeliveriesTable.columns).filter((name) => name !== 'min_height' && name !== 'max_height');

export type DeliveryRow = Omit<
  Stored<typeof hookDeliveriesTable, keyof (typeof hookDeliveriesTable)['columns']>,
  'min_height' | 'max_height'
>;

/** Columns of a delivery, for a query of these rows. */
export const deliveryColumns = shown.join(', ');

/** Conditions in SQL for deliveries to be sent and for those that are done with; indexes hold either alone. */
export const isOpen = `state <= ${storedState.numberOf('failed')}`;
export const isSettled = `state IN (${storedState.numberOf('delivered')}, ${storedState.numberOf('cancelled')})`;

/** @throws UnknownNumberError */
export const deliveryOf = (row: DeliveryRow): Delivery => ({
  id: row.id,
  webhookId: row.webhook_id,
  hookId: row.hook_id,
  lane: storedLane.wordOf(row.lane, row.id),
  reason: storedReason.wordOf(row.reason, row.id),
  sequence: row.sequence,
  state: storedState.wordOf(row.state, row.id),
  createdAt: row.created_at,
  nextAttemptAt: row.next_attempt_at,
  deliveredAt: row.delivered_at,
  triedSince: row.tried_since,
  attempts: row.attempts,
  blocks: JSON.parse(row.blocks) as NotifiedBlocks,
  bodyBytes: row.body_bytes,
  bodySha256: row.body_sha256,
  backfillId: row.backfill_id,
  problem: row.problem,
});
