/**
 * The outbox: open deliveries by queue, results of attempts, and the removal of finished deliveries after a while, bodies
 * first.
 */

import type { Database } from 'bun:sqlite';
import { memoizeByObject } from '../../base/cache.ts';
import { compressed } from '../log/entry.ts';
import {
  type DeliveryState,
  type QueueName,
  type Reason,
  storedQueue,
  storedReason,
  storedState,
} from '../rows/enums.ts';
import { optional, query, type Stored, statements } from '../rows/statement.ts';
import { table } from '../rows/table.ts';
import { hookAttemptsTable, hookBodiesTable, hookDeliveriesTable } from '../rows/tables.ts';
import {
  type DeliveryRow,
  deliveryLog,
  isFinished,
  isOpen,
  MAX_ATTEMPTS,
  selectDeliveries,
  toDelivery,
} from './delivery-log.ts';
import type { Attempt, Delivery, DeliveryBody, NewDelivery, NotifiedBlocks } from './model.ts';

const PENDING = storedState.numberOf('pending');
const DELIVERED = storedState.numberOf('delivered');
const CANCELLED = storedState.numberOf('cancelled');
const BACKFILL = storedQueue.numberOf('backfill');
const REDELIVERY = storedQueue.numberOf('redelivery');

/** Statements by name; the plan test reads them. */
export const sql = {
  // Without INDEXED BY the planner may choose the index by state, and sort.
  head: query<DeliveryRow, [number, number]>`
    ${selectDeliveries('INDEXED BY hook_deliveries_queue')}
     WHERE hook_id = ?1 AND queue = ?2 AND ${isOpen} ORDER BY id LIMIT 1`,
  // Seeks from each queue to the next, without reading the deliveries of a queue.
  openQueues: query<Stored<'hook_deliveries', 'hook_id' | 'queue' | 'id'>>`
    WITH RECURSIVE heads (hook_id, queue, id) AS (
      SELECT hook_id, queue, id FROM (
        SELECT hook_id, queue, id FROM hook_deliveries INDEXED BY hook_deliveries_queue
         WHERE ${isOpen} ORDER BY hook_id, queue, id LIMIT 1)
      UNION ALL
      SELECT d.hook_id, d.queue, d.id FROM heads CROSS JOIN hook_deliveries d ON d.id = coalesce(
        (SELECT id FROM hook_deliveries INDEXED BY hook_deliveries_queue
          WHERE ${isOpen} AND hook_id = heads.hook_id AND queue > heads.queue ORDER BY queue, id LIMIT 1),
        (SELECT id FROM hook_deliveries INDEXED BY hook_deliveries_queue
          WHERE ${isOpen} AND hook_id > heads.hook_id ORDER BY hook_id, queue, id LIMIT 1)))
    SELECT hook_id, queue, id FROM heads`,
  waiting: query<{ count: number; oldest: number | null }, [number]>`
    SELECT count(*) AS count, (SELECT created_at FROM hook_deliveries WHERE id =
             (SELECT min(id) FROM hook_deliveries WHERE hook_id = ?1 AND ${isOpen})) AS oldest
      FROM hook_deliveries WHERE hook_id = ?1 AND ${isOpen}`,
  waitingOfAll: query<{ count: number; oldest: number | null }>`
    SELECT count(*) AS count, (SELECT created_at FROM hook_deliveries WHERE id =
             (SELECT min(id) FROM hook_deliveries INDEXED BY hook_deliveries_queue WHERE ${isOpen})) AS oldest
      FROM hook_deliveries INDEXED BY hook_deliveries_queue WHERE ${isOpen}`,
  openUpTo: query<{ count: number }, [number, number, number]>`
    SELECT count(*) AS count FROM
      (SELECT 1 FROM hook_deliveries WHERE hook_id = ?1 AND queue = ?2 AND ${isOpen} LIMIT ?3)`,
  openOfBackfill: query<{ count: number }, [number]>`
    SELECT count(*) AS count FROM hook_deliveries WHERE backfill_id = ?1 AND ${isOpen}`,
  // A delivery of a backfill has one block.
  openBackfilled: query<DeliveryRow, [number, number, string]>`
    ${selectDeliveries('INDEXED BY hook_deliveries_queue')}
     WHERE hook_id = ?1 AND queue IN (${BACKFILL}, ${REDELIVERY}) AND ${isOpen}
       AND backfill_id IS NOT NULL AND min_height = ?2 AND blocks ->> '$.apply[0].index_block_hash' = ?3`,
  // Begins after the last removed body, so that rows without bodies are not read again.
  aged: query<Stored<'hook_deliveries', 'id' | 'created_at'>, [number, number, number, number]>`
    SELECT id, created_at FROM hook_deliveries
     WHERE ${isFinished} AND (created_at, id) > (?1, ?2) AND created_at < ?3 ORDER BY created_at, id LIMIT ?4`,
  finishedBefore: query<Stored<'hook_deliveries', 'id'>, [number, number]>`
    SELECT id FROM hook_deliveries WHERE ${isFinished} AND created_at < ?1 ORDER BY created_at, id LIMIT ?2`,
  newestSurplus: query<Stored<'hook_deliveries', 'id'>, [number, number]>`
    SELECT id FROM hook_deliveries WHERE hook_id = ?1 AND state = ${DELIVERED} ORDER BY id DESC LIMIT 1 OFFSET ?2`,
  surplus: query<Stored<'hook_deliveries', 'id'>, [number, number, number, number]>`
    SELECT id FROM hook_deliveries WHERE hook_id = ?1 AND state = ${DELIVERED} AND id > ?2 AND id <= ?3
     ORDER BY id LIMIT ?4`,
  allOf: query<Stored<'hook_deliveries', 'id'>, [number, number]>`
    SELECT id FROM hook_deliveries WHERE hook_id = ?1 ORDER BY id LIMIT ?2`,
};

/** Lowest and highest of some blocks' heights; 0 if there are no blocks. */
function heights({ apply, rollback }: NotifiedBlocks): [number, number] {
  const all = [...apply, ...rollback].map(({ height }) => height);
  return all.length === 0 ? [0, 0] : [Math.min(...all), Math.max(...all)];
}

function outboxReader(db: Database) {
  const { head, openQueues, waiting, waitingOfAll, openUpTo, openOfBackfill, openBackfilled } = statements(db, sql);
  return {
    /** The oldest open delivery of a queue, whether or not its next attempt is due. */
    head: (hookId: number, queue: QueueName): Delivery | undefined =>
      optional(head.get(hookId, storedQueue.numberOf(queue)), toDelivery),
    openQueues: (): { hookId: number; queue: QueueName }[] =>
      openQueues.all().map(({ hook_id, queue, id }) => ({ hookId: hook_id, queue: storedQueue.nameOf(queue, id) })),
    /** Number of a hook's open deliveries, and when the oldest was made. */
    waiting: (hookId: number): { count: number; oldest: number | null } =>
      waiting.get(hookId) ?? { count: 0, oldest: null },
    /** Number of open deliveries of a queue, counted up to a limit. */
    openUpTo: (hookId: number, queue: QueueName, limit: number): number =>
      openUpTo.get(hookId, storedQueue.numberOf(queue), limit)?.count ?? 0,
    waitingOfAll: (): { count: number; oldest: number | null } => waitingOfAll.get() ?? { count: 0, oldest: null },
    openOfBackfill: (backfillId: number): number => openOfBackfill.get(backfillId)?.count ?? 0,
    /** Open deliveries that a hook's backfills made of a block, also those to be redelivered. @param hash with 0x */
    openBackfilled: (hookId: number, height: number, hash: string): Delivery[] =>
      openBackfilled.all(hookId, height, hash).map(toDelivery),
  };
}

/** Compresses bodies. A part that several bodies share is compressed once: its frame follows the frame of each own part. */
function bodyCompressor(): (body: string | DeliveryBody) => Uint8Array {
  const frameOf = memoizeByObject((shared: Uint8Array) => compressed(shared));
  return (body) =>
    typeof body === 'string' ? compressed(body) : Buffer.concat([compressed(body.own), frameOf(body.shared)]);
}

const partsOf = (body: string | DeliveryBody): readonly (string | Uint8Array)[] =>
  typeof body === 'string' ? [body] : [body.own, body.shared];

function sha256(parts: readonly (string | Uint8Array)[]): Uint8Array {
  const hasher = new Bun.CryptoHasher('sha256');
  for (const part of parts) hasher.update(part);
  return hasher.digest();
}

/** Adds deliveries and returns their ids. A delivery without a body is dead from the start. */
function deliveryInserter(db: Database) {
  const deliveries = table(db, hookDeliveriesTable);
  const bodies = table(db, hookBodiesTable);
  const compressedBody = bodyCompressor();
  return (delivery: NewDelivery, now: number): number => {
    const parts = partsOf(delivery.body ?? '');
    const [lowest, highest] = heights(delivery.blocks);
    const id = deliveries.add({
      webhook_id: delivery.webhookId,
      hook_id: delivery.hookId,
      queue: storedQueue.numberOf(delivery.queue),
      reason: storedReason.numberOf(delivery.reason),
      sequence: delivery.sequence,
      state: storedState.numberOf(delivery.body === null ? 'dead' : 'pending'),
      created_at: now,
      next_attempt_at: null,
      delivered_at: null,
      tried_since: null,
      attempts: 0,
      blocks: JSON.stringify(delivery.blocks),
      min_height: lowest,
      max_height: highest,
      body_bytes: parts.reduce((bytes, part) => bytes + Buffer.byteLength(part), 0),
      body_sha256: sha256(parts),
      backfill_id: delivery.backfillId,
      problem: delivery.problem,
    });
    if (delivery.body !== null) bodies.add({ delivery_id: id, body: compressedBody(delivery.body) });
    return id;
  };
}

function tryWriter(db: Database) {
  const countTry = query<{ attempts: number }, [number, number, number | null, number | null, number]>`
    UPDATE hook_deliveries SET state = ?2, attempts = attempts + 1, next_attempt_at = ?3, delivered_at = ?4,
           tried_since = coalesce(tried_since, ?5) WHERE id = ?1 RETURNING attempts`.prepared(db);
  const { add: insert } = table(db, hookAttemptsTable);
  const dropOld = query<null, [number, number]>`
    DELETE FROM hook_attempts WHERE delivery_id = ?1 AND attempt <= ?2 - ${MAX_ATTEMPTS}`.prepared(db);
  /** @param nextAttemptAt time of the next attempt, for a failed one that is retried */
  return (id: number, attempt: Attempt, outcome: DeliveryState, nextAttemptAt: number | null): void => {
    const { at, durationMs, urlHost, statusCode, error, excerpt } = attempt;
    const deliveredAt = outcome === 'delivered' ? at + durationMs : null;
    const row = countTry.get(id, storedState.numberOf(outcome), nextAttemptAt, deliveredAt, at);
    if (row === null) throw new Error(`hook_deliveries has no row ${id}`);
    insert({
      delivery_id: id,
      attempt: row.attempts,
      at,
      duration_ms: durationMs,
      url_host: urlHost,
      status_code: statusCode,
      error,
      excerpt,
    });
    dropOld.run(id, row.attempts);
  };
}

function outbox(db: Database) {
  const requeue = query<null, [number, number, number]>`
    UPDATE hook_deliveries SET state = ${PENDING}, queue = ?2, reason = ?3, next_attempt_at = NULL, tried_since = NULL,
           delivered_at = NULL WHERE id = ?1`.prepared(db);
  const dueNow = query<null, [number]>`
    UPDATE hook_deliveries SET next_attempt_at = NULL, tried_since = NULL WHERE id = ?1 AND ${isOpen}`.prepared(db);
  const setState = query<null, [number, number]>`
    UPDATE hook_deliveries SET state = ?2, next_attempt_at = NULL WHERE id = ?1`.prepared(db);
  const cancelOf = query<null, [number]>`
    UPDATE hook_deliveries SET state = ${CANCELLED} WHERE hook_id = ?1 AND ${isOpen}`.prepared(db);
  const cancelBackfill = query<null, [number]>`
    UPDATE hook_deliveries SET state = ${CANCELLED} WHERE backfill_id = ?1 AND ${isOpen}`.prepared(db);
  return {
    ...outboxReader(db),
    /** Adds a delivery; without a body it is dead from the start. @returns its id */
    add: deliveryInserter(db),
    tried: tryWriter(db),
    /** Queues a delivery again, with a new budget of attempts. */
    requeue: (id: number, queue: QueueName, reason: Reason): void =>
      void requeue.run(id, storedQueue.numberOf(queue), storedReason.numberOf(reason)),
    /** Makes an open delivery due at once, with a new budget of attempts. */
    dueNow: (id: number): void => void dueNow.run(id),
    setState: (id: number, state: DeliveryState): void => void setState.run(id, storedState.numberOf(state)),
    cancelAll: (hookId: number): void => void cancelOf.run(hookId),
    cancelBackfill: (backfillId: number): void => void cancelBackfill.run(backfillId),
  };
}

/** Creation time and id of a delivery. */
export interface DeliveryKey {
  createdAt: number;
  id: number;
}

function deliveryRemover(db: Database) {
  const { aged, finishedBefore, newestSurplus, surplus, allOf } = statements(db, sql);
  const removeAttempts = query<null, [number]>`DELETE FROM hook_attempts WHERE delivery_id = ?1`.prepared(db);
  const bodies = table(db, hookBodiesTable);
  const deliveries = table(db, hookDeliveriesTable);
  const removeBody = (id: number): boolean => bodies.removeIfPresent({ delivery_id: id });

  function remove(rows: readonly { id: number }[]): number {
    for (const { id } of rows) {
      removeAttempts.run(id);
      removeBody(id);
      deliveries.removeIfPresent({ id });
    }
    return rows.length;
  }

  return {
    /**
     * Removes the bodies of finished deliveries that were made before a time, oldest first.
     * @param key the key of the delivery whose body was removed last
     */
    deleteBodies(key: DeliveryKey, time: number, limit: number): { count: number; last: DeliveryKey | undefined } {
      const rows = aged.all(key.createdAt, key.id, time, limit);
      for (const row of rows) removeBody(row.id);
      const last = rows.at(-1);
      return { count: rows.length, last: last && { createdAt: last.created_at, id: last.id } };
    },
    /** Removes finished deliveries made before a time, with attempts and bodies. @returns how many */
    deleteFinished: (time: number, limit: number): number => remove(finishedBefore.all(time, limit)),
    /** Removes deliveries of a hook, in any state. @returns the number removed */
    deleteOfHook: (hookId: number, limit: number): number => remove(allOf.all(hookId, limit)),
    /**
     * Removes the bodies of a hook's delivered deliveries, except the newest ones.
     * @param lastId id of the delivery whose body was removed last
     */
    trimBodies(
      hookId: number,
      maxBodies: number,
      lastId: number,
      limit: number,
    ): { count: number; last: number | undefined } {
      const newest = newestSurplus.get(hookId, maxBodies);
      const rows = newest === null ? [] : surplus.all(hookId, lastId, newest.id, limit);
      for (const { id } of rows) removeBody(id);
      return { count: rows.length, last: rows.at(-1)?.id };
    },
  };
}

/** Reads deliveries: the outbox, and the log with their results. */
export const deliveryReads = (db: Database) => ({ ...outboxReader(db), ...deliveryLog(db) });

/** Reads and writes deliveries. */
export const hookDeliveries = (db: Database) => ({ ...outbox(db), ...deliveryLog(db), ...deliveryRemover(db) });
