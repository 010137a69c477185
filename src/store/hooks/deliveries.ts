/** The rows of deliveries: the queue, and the log of what became of each. Bodies stand apart, compressed. */
import type { Database } from 'bun:sqlite';
import { compressed, decompressed } from '../files/journal-entry.ts';
import { prepared } from '../rows/statement.ts';
import {
  type Attempt,
  type Delivery,
  type DeliveryState,
  deliveryStates,
  type Lane,
  type NewDelivery,
  type Reason,
  storedLane,
  storedReason,
  storedState,
  type ToldBlocks,
} from './model.ts';

const PENDING = storedState.numberOf('pending');
const FAILED = storedState.numberOf('failed');
const DELIVERED = storedState.numberOf('delivered');
const CANCELLED = storedState.numberOf('cancelled');
const BACKFILL = storedLane.numberOf('backfill');
const REDELIVERY = storedLane.numberOf('redelivery');
/** To be sent, and done with; indexes hold either alone. */
const isOpen = `state <= ${FAILED}`;
const isSettled = `state IN (${DELIVERED}, ${CANCELLED})`;

/** Attempts of a delivery that are kept. */
const MOST_ATTEMPTS = 50;

interface Row {
  id: number;
  webhook_id: string;
  hook_id: number;
  lane: number;
  reason: number;
  sequence: number | null;
  state: number;
  created_at: number;
  next_attempt_at: number | null;
  delivered_at: number | null;
  tried_since: number | null;
  attempts: number;
  blocks: string;
  body_bytes: number;
  body_sha256: Uint8Array;
  backfill_id: number | null;
  problem: string | null;
}

const columns = `id, webhook_id, hook_id, lane, reason, sequence, state, created_at, next_attempt_at, delivered_at,
       tried_since, attempts, blocks, body_bytes, body_sha256, backfill_id, problem`;

/** What a list of deliveries is narrowed by; heights are those of the blocks it tells of. */
export interface DeliveryFilter {
  states: readonly DeliveryState[];
  reason: Reason | null;
  fromHeight: number;
  toHeight: number;
  /** Unix milliseconds. */
  since: number;
  until: number;
}

export const everyDelivery: DeliveryFilter = {
  states: deliveryStates,
  reason: null,
  fromHeight: 0,
  toHeight: Number.MAX_SAFE_INTEGER,
  since: 0,
  until: Number.MAX_SAFE_INTEGER,
};

/** Whether a filter leaves something out by more than the state. */
const isNarrowed = ({ states: _, ...others }: DeliveryFilter): boolean =>
  Object.entries(others).some(([name, value]) => value !== everyDelivery[name as keyof DeliveryFilter]);

const narrowed = `hook_id = ?1 AND (?2 IS NULL OR reason = ?2) AND max_height >= ?3 AND min_height <= ?4
              AND created_at BETWEEN ?5 AND ?6`;

/** Statements by name; the plan test reads them. */
export const sql = {
  // Without a word of ours the planner may take the index by state, and sort.
  head: `SELECT ${columns} FROM hook_deliveries INDEXED BY hook_deliveries_queue
          WHERE hook_id = ?1 AND lane = ?2 AND ${isOpen} ORDER BY id LIMIT 1`,
  // From each lane straight to the next: what a lane holds is not walked.
  openLanes: `WITH RECURSIVE heads (hook_id, lane, id) AS (
                SELECT hook_id, lane, id FROM (
                  SELECT hook_id, lane, id FROM hook_deliveries INDEXED BY hook_deliveries_queue
                   WHERE ${isOpen} ORDER BY hook_id, lane, id LIMIT 1)
                UNION ALL
                SELECT d.hook_id, d.lane, d.id FROM heads CROSS JOIN hook_deliveries d ON d.id = coalesce(
                  (SELECT id FROM hook_deliveries INDEXED BY hook_deliveries_queue
                    WHERE ${isOpen} AND hook_id = heads.hook_id AND lane > heads.lane ORDER BY lane, id LIMIT 1),
                  (SELECT id FROM hook_deliveries INDEXED BY hook_deliveries_queue
                    WHERE ${isOpen} AND hook_id > heads.hook_id ORDER BY hook_id, lane, id LIMIT 1)))
              SELECT hook_id, lane, id FROM heads`,
  waiting: `SELECT count(*) AS count, (SELECT created_at FROM hook_deliveries WHERE id =
                     (SELECT min(id) FROM hook_deliveries WHERE hook_id = ?1 AND ${isOpen})) AS oldest
              FROM hook_deliveries WHERE hook_id = ?1 AND ${isOpen}`,
  waitingAtAll: `SELECT count(*) AS count, (SELECT created_at FROM hook_deliveries WHERE id =
                          (SELECT min(id) FROM hook_deliveries INDEXED BY hook_deliveries_queue WHERE ${isOpen})) AS oldest
                   FROM hook_deliveries INDEXED BY hook_deliveries_queue WHERE ${isOpen}`,
  byWebhookId: `SELECT ${columns} FROM hook_deliveries WHERE webhook_id = ?1 AND hook_id = ?2`,
  byId: `SELECT ${columns} FROM hook_deliveries WHERE id = ?1`,
  page: `SELECT ${columns} FROM hook_deliveries WHERE ${narrowed} AND state = ?7 AND id <= ?8
          ORDER BY id DESC LIMIT ?9`,
  newer: `SELECT ${columns} FROM hook_deliveries WHERE ${narrowed} AND state = ?7 AND id > ?8 ORDER BY id LIMIT ?9`,
  total: `SELECT count(*) AS total FROM hook_deliveries WHERE ${narrowed} AND state = ?7`,
  // Of all in a state: from the index alone.
  totalOfState: 'SELECT count(*) AS total FROM hook_deliveries WHERE hook_id = ?1 AND state = ?2',
  attempts: `SELECT at, duration_ms AS durationMs, url_host AS urlHost, status_code AS statusCode, error, excerpt
               FROM hook_attempts WHERE delivery_id = ?1 ORDER BY attempt DESC LIMIT ?2`,
  // What became of those before is known: rows whose bodies are gone are not walked again.
  aged: `SELECT id, created_at FROM hook_deliveries
          WHERE ${isSettled} AND (created_at, id) > (?1, ?2) AND created_at < ?3 ORDER BY created_at, id LIMIT ?4`,
  settledBefore: `SELECT id FROM hook_deliveries WHERE ${isSettled} AND created_at < ?1 ORDER BY created_at LIMIT ?2`,
  newestSurplus: `SELECT id FROM hook_deliveries WHERE hook_id = ?1 AND state = ${DELIVERED}
                   ORDER BY id DESC LIMIT 1 OFFSET ?2`,
  surplus: `SELECT id FROM hook_deliveries WHERE hook_id = ?1 AND state = ${DELIVERED} AND id > ?2 AND id <= ?3
             ORDER BY id LIMIT ?4`,
  allOf: 'SELECT id FROM hook_deliveries WHERE hook_id = ?1 LIMIT ?2',
  openUpTo: `SELECT count(*) AS count FROM
               (SELECT 1 FROM hook_deliveries WHERE hook_id = ?1 AND lane = ?2 AND ${isOpen} LIMIT ?3)`,
  hasBody: 'SELECT 1 AS one FROM hook_bodies WHERE delivery_id = ?1',
  body: 'SELECT body FROM hook_bodies WHERE delivery_id = ?1',
  openOfBackfill: `SELECT count(*) AS count FROM hook_deliveries WHERE backfill_id = ?1 AND ${isOpen}`,
  // A backfill tells of one block in each delivery.
  openBackfilled: `SELECT ${columns} FROM hook_deliveries INDEXED BY hook_deliveries_queue
                    WHERE hook_id = ?1 AND lane IN (${BACKFILL}, ${REDELIVERY}) AND ${isOpen}
                      AND backfill_id IS NOT NULL AND min_height = ?2
                      AND blocks ->> '$.apply[0].index_block_hash' = ?3`,
};

const deliveryOf = (row: Row): Delivery => ({
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
  blocks: JSON.parse(row.blocks) as ToldBlocks,
  bodyBytes: row.body_bytes,
  bodySha256: row.body_sha256,
  backfillId: row.backfill_id,
  problem: row.problem,
});

/** When a delivery was made, and its id. */
interface Made {
  createdAt: number;
  id: number;
}

type Narrowing = [number, number | null, number, number, number, number, number];

const narrowing = (hookId: number, filter: DeliveryFilter, state: DeliveryState): Narrowing => [
  hookId,
  filter.reason === null ? null : storedReason.numberOf(filter.reason),
  filter.fromHeight,
  filter.toHeight,
  filter.since,
  filter.until,
  storedState.numberOf(state),
];

function heights({ apply, rollback }: ToldBlocks): [number, number] {
  const all = [...apply, ...rollback].map(({ height }) => height);
  return all.length === 0 ? [0, 0] : [Math.min(...all), Math.max(...all)];
}

const { numberOf: state } = storedState;

export function hookDeliveries(db: Database) {
  const insert = db.prepare<{ id: number }, (string | number | Uint8Array | null)[]>(
    `INSERT INTO hook_deliveries (webhook_id, hook_id, lane, reason, sequence, state, created_at, attempts, blocks,
                                  min_height, max_height, body_bytes, body_sha256, backfill_id, problem)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8, ?9, ?10, ?11, ?12, ?13, ?14) RETURNING id`,
  );
  const addBody = db.prepare<null, [number, Uint8Array]>('INSERT INTO hook_bodies VALUES (?1, ?2)');
  const head = prepared<Row, [number, number]>(db, sql.head);
  const openLanes = db.prepare<{ hook_id: number; lane: number; id: number }, []>(sql.openLanes);
  const waiting = prepared<{ count: number; oldest: number | null }, [number]>(db, sql.waiting);
  const waitingAtAll = db.prepare<{ count: number; oldest: number | null }, []>(sql.waitingAtAll);
  const byWebhookId = prepared<Row, [string, number]>(db, sql.byWebhookId);
  const byId = prepared<Row, [number]>(db, sql.byId);
  const page = db.prepare<Row, [...Narrowing, number, number]>(sql.page);
  const newer = db.prepare<Row, [...Narrowing, number, number]>(sql.newer);
  const total = db.prepare<{ total: number }, Narrowing>(sql.total);
  const totalOfState = prepared<{ total: number }, [number, number]>(db, sql.totalOfState);
  const attempts = prepared<Attempt, [number, number]>(db, sql.attempts);
  const body = prepared<{ body: Uint8Array }, [number]>(db, sql.body);
  const hasBody = prepared<{ one: number }, [number]>(db, sql.hasBody);
  const openUpTo = prepared<{ count: number }, [number, number, number]>(db, sql.openUpTo);
  const openOfBackfill = prepared<{ count: number }, [number]>(db, sql.openOfBackfill);
  const openBackfilled = prepared<Row, [number, number, string]>(db, sql.openBackfilled);
  const addAttempt = db.prepare(
    `INSERT INTO hook_attempts VALUES (?1, (SELECT attempts FROM hook_deliveries WHERE id = ?1), ?2, ?3, ?4, ?5, ?6, ?7)`,
  );
  const dropAttempts = db.prepare<null, [number]>(
    `DELETE FROM hook_attempts WHERE delivery_id = ?1
        AND attempt <= (SELECT attempts FROM hook_deliveries WHERE id = ?1) - ${MOST_ATTEMPTS}`,
  );
  const tried = db.prepare<null, [number, number, number | null, number | null, number]>(
    `UPDATE hook_deliveries SET state = ?2, attempts = attempts + 1, next_attempt_at = ?3, delivered_at = ?4,
            tried_since = coalesce(tried_since, ?5) WHERE id = ?1`,
  );
  const requeue = db.prepare<null, [number, number, number]>(
    `UPDATE hook_deliveries SET state = ${PENDING}, lane = ?2, reason = ?3, next_attempt_at = NULL, tried_since = NULL,
            delivered_at = NULL WHERE id = ?1`,
  );
  const dueNow = db.prepare<null, [number]>(
    `UPDATE hook_deliveries SET next_attempt_at = NULL, tried_since = NULL WHERE id = ?1 AND ${isOpen}`,
  );
  const setState = db.prepare<null, [number, number]>(
    'UPDATE hook_deliveries SET state = ?2, next_attempt_at = NULL WHERE id = ?1',
  );
  const cancelOf = db.prepare<null, [number]>(
    `UPDATE hook_deliveries SET state = ${CANCELLED} WHERE hook_id = ?1 AND ${isOpen}`,
  );
  const cancelBackfill = db.prepare<null, [number]>(
    `UPDATE hook_deliveries SET state = ${CANCELLED} WHERE backfill_id = ?1 AND ${isOpen}`,
  );
  const aged = db.prepare<{ id: number; created_at: number }, [number, number, number, number]>(sql.aged);
  const settledBefore = db.prepare<{ id: number }, [number, number]>(sql.settledBefore);
  const forgetAttempts = db.prepare<null, [number]>('DELETE FROM hook_attempts WHERE delivery_id = ?1');
  const forgetBody = db.prepare<null, [number]>('DELETE FROM hook_bodies WHERE delivery_id = ?1');
  const newestSurplus = db.prepare<{ id: number }, [number, number]>(sql.newestSurplus);
  const surplus = db.prepare<{ id: number }, [number, number, number, number]>(sql.surplus);
  const allOf = db.prepare<{ id: number }, [number, number]>(sql.allOf);
  const forgetRow = db.prepare<null, [number]>('DELETE FROM hook_deliveries WHERE id = ?1');

  /** Each state has its own stretch of the index, in the order of the rows. */
  const ascending = (hookId: number, filter: DeliveryFilter, after: number, limit: number): Row[] =>
    filter.states
      .flatMap((word) => newer.all(...narrowing(hookId, filter, word), after, limit))
      .sort((a, b) => a.id - b.id)
      .slice(0, limit);

  function countOf(hookId: number, filter: DeliveryFilter, word: DeliveryState): number {
    const row = isNarrowed(filter)
      ? total.get(...narrowing(hookId, filter, word))
      : totalOfState.get(hookId, state(word));
    return row?.total ?? 0;
  }

  function forget(rows: readonly { id: number }[]): number {
    for (const { id } of rows) {
      forgetAttempts.run(id);
      forgetBody.run(id);
      forgetRow.run(id);
    }
    return rows.length;
  }

  return {
    /** Queues a delivery; without a body it is dead from the start. @returns its id */
    add(delivery: NewDelivery, now: number): number {
      const text = delivery.body ?? '';
      const [least, greatest] = heights(delivery.blocks);
      const row = insert.get(
        delivery.webhookId,
        delivery.hookId,
        storedLane.numberOf(delivery.lane),
        storedReason.numberOf(delivery.reason),
        delivery.sequence,
        state(delivery.body === null ? 'dead' : 'pending'),
        now,
        JSON.stringify(delivery.blocks),
        least,
        greatest,
        Buffer.byteLength(text),
        new Bun.CryptoHasher('sha256').update(text).digest(),
        delivery.backfillId,
        delivery.problem,
      );
      if (row === null) throw new Error('hook_deliveries gave no id');
      if (delivery.body !== null) addBody.run(row.id, compressed(delivery.body));
      return row.id;
    },

    /** The one that is to be sent next, waiting for its time or not. */
    head: (hookId: number, lane: Lane): Delivery | undefined => {
      const row = head.get(hookId, storedLane.numberOf(lane));
      return row === null ? undefined : deliveryOf(row);
    },
    /** Lanes that have something to send. */
    openLanes: (): { hookId: number; lane: Lane }[] =>
      openLanes.all().map(({ hook_id, lane, id }) => ({ hookId: hook_id, lane: storedLane.wordOf(lane, id) })),
    /** How many wait, and since when the oldest. */
    waiting: (hookId: number): { count: number; oldest: number | null } =>
      waiting.get(hookId) ?? { count: 0, oldest: null },
    /** How many of a lane wait, counted up to a limit. */
    openUpTo: (hookId: number, lane: Lane, limit: number): number =>
      openUpTo.get(hookId, storedLane.numberOf(lane), limit)?.count ?? 0,
    waitingAtAll: (): { count: number; oldest: number | null } => waitingAtAll.get() ?? { count: 0, oldest: null },
    find: (webhookId: string, hookId: number): Delivery | undefined => {
      const row = byWebhookId.get(webhookId, hookId);
      return row === null ? undefined : deliveryOf(row);
    },
    get: (id: number): Delivery | undefined => {
      const row = byId.get(id);
      return row === null ? undefined : deliveryOf(row);
    },
    /** Newest first. @param start id of the first, null for the newest; `previous` is that of the page before */
    page(hookId: number, filter: DeliveryFilter, limit: number, start: number | null) {
      const rows = filter.states
        .flatMap((word) => page.all(...narrowing(hookId, filter, word), start ?? Number.MAX_SAFE_INTEGER, limit + 1))
        .sort((a, b) => b.id - a.id);
      const before = start === null ? [] : ascending(hookId, filter, rows[0]?.id ?? start, limit);
      return {
        items: rows.slice(0, limit).map(deliveryOf),
        total: filter.states.reduce((sum, word) => sum + countOf(hookId, filter, word), 0),
        current: rows[0]?.id ?? null,
        next: rows[limit]?.id ?? null,
        previous: before.at(-1)?.id ?? null,
      };
    },
    /** In the order they were made, from behind `after` on. */
    inOrder: (hookId: number, filter: DeliveryFilter, after: number, limit: number): Delivery[] =>
      ascending(hookId, filter, after, limit).map(deliveryOf),
    /** Newest first. */
    attempts: (id: number, limit = MOST_ATTEMPTS): Attempt[] => attempts.all(id, limit),
    /** JSON text; undefined where it is kept no more. */
    body: (id: number): string | undefined => {
      const row = body.get(id);
      return row === null ? undefined : decompressed(row.body);
    },

    /** Whether its body is still kept. */
    hasBody: (id: number): boolean => hasBody.get(id) !== null,

    /** Notes a try and what follows from it. @param nextAttemptAt of one that failed and is tried again */
    tried(id: number, attempt: Attempt, outcome: DeliveryState, nextAttemptAt: number | null): void {
      const { at, durationMs, urlHost, statusCode, error, excerpt } = attempt;
      const deliveredAt = outcome === 'delivered' ? at + durationMs : null;
      tried.run(id, state(outcome), nextAttemptAt, deliveredAt, at);
      addAttempt.run(id, at, durationMs, urlHost, statusCode, error, excerpt);
      dropAttempts.run(id);
    },
    /** To be sent anew, with a new budget. */
    requeue: (id: number, lane: Lane, reason: Reason) => {
      requeue.run(id, storedLane.numberOf(lane), storedReason.numberOf(reason));
    },
    /** One that waits goes at once, with a new budget. */
    dueNow: (id: number) => {
      dueNow.run(id);
    },
    setState: (id: number, word: DeliveryState) => {
      setState.run(id, state(word));
    },
    cancelAll: (hookId: number) => {
      cancelOf.run(hookId);
    },
    cancelBackfill: (backfillId: number) => {
      cancelBackfill.run(backfillId);
    },
    openOfBackfill: (backfillId: number): number => openOfBackfill.get(backfillId)?.count ?? 0,
    /** What a hook's backfills made of a block and is still to be sent, for the first time or again. @param hash with 0x */
    openBackfilled: (hookId: number, height: number, hash: string): Delivery[] =>
      openBackfilled.all(hookId, height, hash).map(deliveryOf),

    /**
     * Forgets bodies of what was made before a time and is done with, oldest first.
     * @param after the last that was forgotten
     */
    forgetBodies({ createdAt, id }: Made, before: number, limit: number): { count: number; last: Made | undefined } {
      const rows = aged.all(createdAt, id, before, limit);
      for (const row of rows) forgetBody.run(row.id);
      const last = rows.at(-1);
      return { count: rows.length, last: last && { createdAt: last.created_at, id: last.id } };
    },
    /** Forgets what was made before a time and is done with, with attempts and bodies. @returns how many */
    forgetRows: (before: number, limit: number): number => forget(settledBefore.all(before, limit)),
    /** Forgets deliveries of a hook, whatever became of them. @returns how many */
    forgetOf: (hookId: number, limit: number): number => forget(allOf.all(hookId, limit)),
    /** Keeps the bodies of a hook's newest delivered ones alone. @param after id of the last that was forgotten */
    keepBodies(
      hookId: number,
      most: number,
      after: number,
      limit: number,
    ): { count: number; last: number | undefined } {
      const newest = newestSurplus.get(hookId, most);
      const rows = newest === null ? [] : surplus.all(hookId, after, newest.id, limit);
      for (const { id } of rows) forgetBody.run(id);
      return { count: rows.length, last: rows.at(-1)?.id };
    },
  };
}
export type HookDeliveries = ReturnType<typeof hookDeliveries>;
