/** The rows of deliveries: the queue, and the log of what became of each. Bodies stand apart, compressed. */
import type { Database } from 'bun:sqlite';
import { deliveryForgetting } from './delivery-forgetting.ts';
import { deliveryLog } from './delivery-log.ts';
import { deliveryQueue } from './delivery-queue.ts';

export const hookDeliveries = (db: Database) => ({
  ...deliveryQueue(db),
  ...deliveryLog(db),
  ...deliveryForgetting(db),
});
