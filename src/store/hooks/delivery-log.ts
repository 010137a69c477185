/** Reads deliveries, their states and attempts, newest first or in order. */
import type { Database } from 'bun:sqlite';
import { decompressed } from '../log/entry.ts';
import type { Cursor, CursorKey, Page } from '../model/page.ts';
import { down, orderedList } from '../queries/list.ts';
import { readPage } from '../queries/page.ts';
import {
  type DeliveryState,
  deliveryStates,
  type Reason,
  storedQueue,
  storedReason,
  storedState,
} from '../rows/enums.ts';
import { modelColumns, optional, query, type Stored, statements } from '../rows/statement.ts';
import type { Renamed } from '../rows/table.ts';
import { hookDeliveriesTable } from '../rows/tables.ts';
import type { Attempt, Delivery, NotifiedBlocks } from './model.ts';

const names = Object.keys(hookDeliveriesTable.columns).filter((name) => name !== 'min_height' && name !== 'max_height');

export type DeliveryRow = Renamed<Omit<Stored<'hook_deliveries'>, 'min_height' | 'max_height'>>;

/** A query of these rows up to its condition. @param index names the index that SQLite must use */
export const selectDeliveries = (index = ''): string =>
  `SELECT ${modelColumns('d', names)} FROM hook_deliveries d ${index}`;

/** Conditions in SQL for open and for finished deliveries. Each has an index. */
export const isOpen = `state <= ${storedState.numberOf('failed')}`;
export const isFinished = `state IN (${storedState.numberOf('delivered')}, ${storedState.numberOf('cancelled')})`;

/** @throws Error for a number without a name */
export const toDelivery = (row: DeliveryRow): Delivery => ({
  ...row,
  queue: storedQueue.nameOf(row.queue, row.id),
  reason: storedReason.nameOf(row.reason, row.id),
  state: storedState.nameOf(row.state, row.id),
  blocks: JSON.parse(row.blocks) as NotifiedBlocks,
});

/** Maximum of stored attempts of a delivery. */
export const MAX_ATTEMPTS = 50;

/** Filter of a list of deliveries; heights are their blocks' heights. */
export interface DeliveryFilter {
  states: readonly DeliveryState[];
  reason: Reason | null;
  fromHeight: number;
  toHeight: number;
  /** First and last time of creation, in Unix milliseconds. */
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

const isNarrowed = ({ states: _, ...others }: DeliveryFilter): boolean =>
  Object.entries(others).some(([name, value]) => value !== everyDelivery[name as keyof DeliveryFilter]);

const narrowed = `hook_id = ?1 AND (?2 IS NULL OR reason = ?2) AND max_height >= ?3 AND min_height <= ?4
              AND created_at BETWEEN ?5 AND ?6`;

/** Statements by name; the plan test reads them. */
export const sql = {
  ofState: orderedList<DeliveryRow>({ select: selectDeliveries(), where: `${narrowed} AND state = ?7` }, [down('id')]),
  byWebhookId: query<DeliveryRow, [string, number]>`
    ${selectDeliveries()} WHERE webhook_id = ?1 AND hook_id = ?2`,
  byId: query<DeliveryRow, [number]>`${selectDeliveries()} WHERE id = ?1`,
  allOfState: query<DeliveryRow, [number, number]>`
    ${selectDeliveries()} WHERE hook_id = ?1 AND state = ?2 ORDER BY id`,
  lastOfState: query<DeliveryRow, [number, number]>`
    ${selectDeliveries()} WHERE hook_id = ?1 AND state = ?2 ORDER BY id DESC LIMIT 1`,
  total: query<{ total: number }, Narrowing>`
    SELECT count(*) AS total FROM hook_deliveries WHERE ${narrowed} AND state = ?7`,
  // Deliveries of a state are counted using only the index.
  totalOfState: query<{ total: number }, [number, number]>`
    SELECT count(*) AS total FROM hook_deliveries WHERE hook_id = ?1 AND state = ?2`,
  attempts: query<Attempt, [number, number]>`
    SELECT at, duration_ms AS durationMs, url_host AS urlHost, status_code AS statusCode, error, excerpt
      FROM hook_attempts WHERE delivery_id = ?1 ORDER BY attempt DESC LIMIT ?2`,
  body: query<Stored<'hook_bodies', 'body'>, [number]>`SELECT body FROM hook_bodies WHERE delivery_id = ?1`,
  hasBody: query<{ one: number }, [number]>`SELECT 1 AS one FROM hook_bodies WHERE delivery_id = ?1`,
};

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

/** Reads the log. */
export function deliveryLog(db: Database) {
  const read = statements(db, sql);

  /** Deliveries of a hook, newest first. Each state has a range of the index, in the order of ids. */
  const newest = (hookId: number, filter: DeliveryFilter) => ({
    rows: (key: CursorKey | null, isBackward: boolean, count: number): DeliveryRow[] =>
      filter.states
        .flatMap((word) => read.ofState(narrowing(hookId, filter, word)).rows(key, isBackward, count))
        .sort((a, b) => (isBackward ? a.id - b.id : b.id - a.id))
        .slice(0, count),
    keyOf: ({ id }: DeliveryRow): CursorKey => [id],
  });

  function countOf(hookId: number, filter: DeliveryFilter, word: DeliveryState): number {
    const row = isNarrowed(filter)
      ? read.total.get(...narrowing(hookId, filter, word))
      : read.totalOfState.get(hookId, storedState.numberOf(word));
    return row?.total ?? 0;
  }

  return {
    find: (webhookId: string, hookId: number): Delivery | undefined =>
      optional(read.byWebhookId.get(webhookId, hookId), toDelivery),
    get: (id: number): Delivery | undefined => optional(read.byId.get(id), toDelivery),
    /** The few deliveries of a hook that failed and wait for a retry, oldest first. */
    failed: (hookId: number): Delivery[] => read.allOfState.all(hookId, storedState.numberOf('failed')).map(toDelivery),
    /** The newest delivery of a hook that was given up. */
    lastDead: (hookId: number): Delivery | undefined =>
      optional(read.lastOfState.get(hookId, storedState.numberOf('dead')), toDelivery),
    /** Deliveries of a hook, newest first. */
    page: (hookId: number, filter: DeliveryFilter, limit: number, cursor: Cursor | null): Page<Delivery> =>
      readPage({
        limit,
        cursor,
        total: filter.states.reduce((sum, word) => sum + countOf(hookId, filter, word), 0),
        ...newest(hookId, filter),
        itemOf: toDelivery,
      }),
    /** Deliveries in the order of creation, after the id `after`. */
    inOrder: (hookId: number, filter: DeliveryFilter, afterId: number, limit: number): Delivery[] =>
      newest(hookId, filter)
        .rows([afterId + 1], true, limit)
        .map(toDelivery),
    /** Attempts of a delivery, newest first. */
    attempts: (id: number, limit = MAX_ATTEMPTS): Attempt[] => read.attempts.all(id, limit),
    /** The body, JSON text; undefined if it is no longer stored. */
    body: (id: number): string | undefined => optional(read.body.get(id), (row) => decompressed(row.body)),
    /** Whether the body is still stored. */
    hasBody: (id: number): boolean => read.hasBody.get(id) !== null,
  };
}
