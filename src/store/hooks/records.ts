/** The rows of hooks, and the cursor of live hooks. */
import type { Database } from 'bun:sqlite';
import { type HookStatus, type QueueName, storedQueue, storedStage, storedState, storedStatus } from '../rows/enums.ts';
import { fromHooks, hookNow, isEnabledHook, LIVE, NEW, STREAMING } from '../rows/expressions.ts';
import { modelColumns, optional, query, type Stored, statements } from '../rows/statement.ts';
import { type NewRow, type Renamed, table } from '../rows/table.ts';
import { hooksTable } from '../rows/tables.ts';
import type { Cursor, HookProgress, HookRecord } from './model.ts';

/** A hook as it is read; a live one with the cursor and count of `progress`. */
type RecordRow = Renamed<Omit<Stored<'hooks'>, (typeof unread)[number]>>;
const unread = ['url', 'joined', 'expires_at', 'deleted_at'] as const;
const names = Object.keys(hooksTable.columns).filter((name) => !unread.some((other) => other === name));
const recordColumns = modelColumns('h', names, hookNow);

/** @throws Error for a number without a name */
const toRecord = ({ cursorHeight: height, cursorHash: hash, ...row }: RecordRow): HookRecord => ({
  ...row,
  stage: storedStage.nameOf(row.stage, row.id),
  status: storedStatus.nameOf(row.status, row.id),
  cursor: { height, hash },
});

const IDLE = storedStage.numberOf('idle');
const CATCHING_UP = storedStage.numberOf('catching_up');
const PAUSED = storedStage.numberOf('paused');
const PAUSED_IDLE = storedStage.numberOf('paused_idle');
const EXPIRED = storedStatus.numberOf('expired');
const INTERRUPTED = storedStatus.numberOf('interrupted');
const FAILED = storedState.numberOf('failed');
const LIVE_QUEUE = storedQueue.numberOf('live');

/** Whether a hook sends its live queue; see {@link isSendable}. */
const sendsLive = `(${isEnabledHook} OR (h.status = ${EXPIRED} AND h.stage NOT IN (${PAUSED}, ${PAUSED_IDLE})))`;
/**
 * Whether a hook fails: it was interrupted, its last attempt failed and it still sends, or a delivery in one of its sendable
 * queues waits for a retry, even if another queue succeeded since.
 */
const isFailing = `(h.status = ${INTERRUPTED} OR (h.consecutive_failures > 0 AND ${sendsLive})
         OR (h.stage NOT IN (${PAUSED}, ${PAUSED_IDLE})
             AND EXISTS (SELECT 1 FROM hook_deliveries d WHERE d.hook_id = h.id AND d.state = ${FAILED}
                                                           AND (d.queue <> ${LIVE_QUEUE} OR ${sendsLive}))))`;

/** Statements by name; the plan test reads them. */
export const sql = {
  byUuid: query<RecordRow, [string, string, number]>`
    SELECT ${recordColumns} ${fromHooks} WHERE h.uuid = ?1 AND h.consumer = ?2 AND (h.deleted_at IS NULL OR ?3)`,
  // The plus keeps the planner from an index that it considers a short list of hooks.
  byId: query<RecordRow, [number]>`SELECT ${recordColumns} ${fromHooks} WHERE h.id = ?1 AND +h.deleted_at IS NULL`,
  page: query<RecordRow, [string, number, number]>`
    SELECT ${recordColumns} ${fromHooks} WHERE h.consumer = ?1 AND h.deleted_at IS NULL
     ORDER BY h.created_at DESC, h.uuid LIMIT ?2 OFFSET ?3`,
  total: query<{ total: number }, [string]>`
    SELECT count(*) AS total FROM hooks WHERE consumer = ?1 AND deleted_at IS NULL`,
  failing: query<RecordRow, [string, number, number]>`
    SELECT ${recordColumns} ${fromHooks} WHERE h.consumer = ?1 AND h.deleted_at IS NULL AND ${isFailing}
     ORDER BY h.created_at DESC, h.uuid LIMIT ?2 OFFSET ?3`,
  totalFailing: query<{ total: number }, [string]>`
    SELECT count(*) AS total FROM hooks h WHERE h.consumer = ?1 AND h.deleted_at IS NULL AND ${isFailing}`,
  idsAt: query<Stored<'hooks', 'id'>, [number]>`SELECT id FROM hooks WHERE stage = ?1 AND stage > ${IDLE}`,
  active: query<RecordRow, [number]>`SELECT ${recordColumns} ${fromHooks} WHERE h.stage = ?1 AND h.stage > ${IDLE}`,
  expiring: query<Stored<'hooks', 'id'>, [number]>`
    SELECT h.id FROM hooks h WHERE h.stage = ${LIVE} AND h.expires_at IS NOT NULL AND h.expires_at <= ?1`,
  deletedBefore: query<Stored<'hooks', 'id'>, [number]>`SELECT id FROM hooks WHERE deleted_at < ?1 ORDER BY id LIMIT 1`,
  withLongLog: query<Stored<'hooks', 'id'>, [number]>`SELECT id FROM hooks WHERE sequence > ?1`,
  consumers: query<Stored<'hooks', 'consumer'> & { hooks: number; failing: number }>`
    SELECT h.consumer, count(*) AS hooks, sum(${isFailing}) AS failing FROM hooks h WHERE h.deleted_at IS NULL
     GROUP BY h.consumer ORDER BY h.consumer`,
  owner: query<Stored<'hooks', 'consumer'>, [string]>`SELECT consumer FROM hooks WHERE uuid = ?1`,
  counts: query<{ enabled: number; status: number; id: number; count: number }>`
    SELECT ${isEnabledHook} AS enabled, ${hookNow.status} AS status, min(h.id) AS id, count(*) AS count ${fromHooks}
     WHERE h.deleted_at IS NULL GROUP BY 1, 2`,
};

type ProgressRow = Stored<
  'progress',
  'hooks_evaluated' | 'hooks_cursor_height' | 'hooks_cursor_hash' | 'hooks_evaluated_at'
>;

/** Reads hooks, and the cursor of live hooks. */
export function recordReads(db: Database) {
  const read = statements(db, sql);
  const progress = query<ProgressRow>`
    SELECT hooks_evaluated, hooks_cursor_height, hooks_cursor_hash, hooks_evaluated_at FROM progress`.prepared(db);
  const epoch = query<Stored<'progress', 'hooks_epoch'>>`SELECT hooks_epoch FROM progress`.prepared(db);

  return {
    /** A hook of the consumer. @param deleted whether to include a deleted hook */
    find: (uuid: string, consumer: string, deleted = false): HookRecord | undefined =>
      optional(read.byUuid.get(uuid, consumer, deleted ? 1 : 0), toRecord),
    get: (id: number): HookRecord | undefined => optional(read.byId.get(id), toRecord),
    /** Hooks of a consumer, newest first, then by uuid. */
    page: (consumer: string, limit: number, offset: number): { items: HookRecord[]; total: number } => ({
      items: read.page.all(consumer, limit, offset).map(toRecord),
      total: read.total.get(consumer)?.total ?? 0,
    }),
    /** Hooks of a consumer that were interrupted, or failed in their last attempt, newest first, then by uuid. */
    failing: (consumer: string, limit: number, offset: number): { items: HookRecord[]; total: number } => ({
      items: read.failing.all(consumer, limit, offset).map(toRecord),
      total: read.totalFailing.get(consumer)?.total ?? 0,
    }),
    /** All hooks of a consumer, newest first. */
    all: (consumer: string): HookRecord[] => read.page.all(consumer, -1, 0).map(toRecord),
    live: (): HookRecord[] => read.active.all(LIVE).map(toRecord),
    consumers: (): { consumer: string; hooks: number; failing: number }[] => read.consumers.all(),
    /** The consumer of a hook, also of a deleted one; undefined if the hook is unknown. */
    owner: (uuid: string): string | undefined => read.owner.get(uuid)?.consumer,
    catchingUp: (): number[] => read.idsAt.all(CATCHING_UP).map(({ id }) => id),
    counts: (): { status: HookStatus; enabled: boolean; count: number }[] =>
      read.counts
        .all()
        .map(({ enabled, status, id, count }) => ({
          status: storedStatus.nameOf(status, id),
          enabled: enabled === 1,
          count,
        })),
    withLongLog: (deliveries: number): number[] => read.withLongLog.all(deliveries).map(({ id }) => id),
    /** A hook that was deleted before a time; null if there is none. */
    deletedBefore: (time: number): number | null => read.deletedBefore.get(time)?.id ?? null,
    /** Live hooks that expire at this number of evaluated blocks. */
    usedUp: (evaluated: number): number[] => read.expiring.all(evaluated).map(({ id }) => id),
    progress: (): HookProgress => {
      const row = progress.get();
      if (row === null) throw new Error('progress has no row');
      const { hooks_evaluated: evaluated, hooks_cursor_height: height, hooks_cursor_hash: hash } = row;
      return { evaluated, cursor: { height, hash }, evaluatedAt: row.hooks_evaluated_at };
    },
    /** The greatest epoch of a lease with delivery results; 0 before the first. */
    epoch: (): number => epoch.get()?.hooks_epoch ?? 0,
  };
}

interface NewHook {
  uuid: string;
  consumer: string;
  /** Unix milliseconds. */
  createdAt: number;
  /** JSON. */
  definition: string;
  url: string;
}

/** Adds hooks, which are idle and new, and returns their ids. */
function recordInserter(insert: (row: NewRow<typeof hooksTable>) => number) {
  return ({ uuid, consumer, createdAt, definition, url }: NewHook): number =>
    insert({
      uuid,
      consumer,
      created_at: createdAt,
      definition,
      url,
      stage: IDLE,
      status: NEW,
      cursor_height: 0,
      cursor_hash: new Uint8Array(0),
      evaluated: 0,
      occurrences: 0,
      joined: 0,
      window_evaluated: 0,
      window_occurrences: 0,
      expires_at: null,
      last_evaluated_at: null,
      last_evaluated_height: null,
      last_occurrence_at: null,
      last_occurrence_height: null,
      sequence: 0,
      interrupted_reason: null,
      stuck_delivery: null,
      consecutive_failures: 0,
      last_delivery_at: null,
      last_delivery_status: null,
      deleted_at: null,
    });
}

/** Reads and writes hooks. */
export function hookRecords(db: Database) {
  const setDefinition = query<null, [number, string, string, number | null]>`
    UPDATE hooks SET definition = ?2, url = ?3, expires_at = ?4 WHERE id = ?1`.prepared(db);
  const remove = query<null, [number, number]>`
    UPDATE hooks SET stage = ${IDLE}, expires_at = NULL, deleted_at = ?2 WHERE id = ?1`.prepared(db);
  const join = query<null, [number, number | null]>`
    UPDATE hooks SET stage = ${LIVE}, joined = (SELECT hooks_evaluated FROM progress), expires_at = ?2
     WHERE id = ?1`.prepared(db);
  const leave = query<null, [number, number]>`
    UPDATE hooks SET stage = ?2, expires_at = NULL,
           (${Object.keys(hookNow).join(', ')}) =
           (SELECT ${Object.values(hookNow).join(', ')} ${fromHooks} WHERE h.id = ?1) WHERE id = ?1`.prepared(db);
  const setStatus = query<null, [number, number, string | null, number | null]>`
    UPDATE hooks SET status = ?2, interrupted_reason = ?3, stuck_delivery = ?4 WHERE id = ?1`.prepared(db);
  const setCursor = query<null, [number, number, Uint8Array]>`
    UPDATE hooks SET cursor_height = ?2, cursor_hash = ?3 WHERE id = ?1`.prepared(db);
  const openWindow = query<null, [number]>`
    UPDATE hooks SET window_evaluated = evaluated, window_occurrences = occurrences WHERE id = ?1`.prepared(db);
  const advanceOne = query<null, [number, number, Uint8Array, number]>`
    UPDATE hooks SET evaluated = evaluated + 1, status = max(status, ${STREAMING}), cursor_height = ?2, cursor_hash = ?3,
           last_evaluated_at = ?4, last_evaluated_height = ?2 WHERE id = ?1`.prepared(db);
  const occurred = query<null, [number, number, number]>`
    UPDATE hooks SET occurrences = occurrences + 1, last_occurrence_at = ?2, last_occurrence_height = ?3
     WHERE id = ?1`.prepared(db);
  const occurredNext = query<{ sequence: number }, [number, number, number]>`
    UPDATE hooks SET occurrences = occurrences + 1, last_occurrence_at = ?2, last_occurrence_height = ?3,
           sequence = sequence + 1 WHERE id = ?1 RETURNING sequence`.prepared(db);
  const nextSequence = query<{ sequence: number }, [number]>`
    UPDATE hooks SET sequence = sequence + 1 WHERE id = ?1 RETURNING sequence`.prepared(db);
  const delivered = query<null, [number, number, number | null]>`
    UPDATE hooks SET consecutive_failures = 0, last_delivery_at = ?2, last_delivery_status = ?3
     WHERE id = ?1`.prepared(db);
  const failed = query<null, [number, number | null]>`
    UPDATE hooks SET consecutive_failures = consecutive_failures + 1, last_delivery_status = ?2
     WHERE id = ?1`.prepared(db);
  const hooks = table(db, hooksTable);
  const setProgress = query<null, [number, number, Uint8Array, number | null]>`
    UPDATE progress SET hooks_evaluated = ?1, hooks_cursor_height = ?2, hooks_cursor_hash = ?3,
                        hooks_evaluated_at = ?4`.prepared(db);
  const setEpoch = query<null, [number]>`UPDATE progress SET hooks_epoch = ?1`.prepared(db);

  return {
    ...recordReads(db),
    setProgress: ({ evaluated, cursor, evaluatedAt }: HookProgress): void =>
      void setProgress.run(evaluated, cursor.height, cursor.hash, evaluatedAt),
    setEpoch: (to: number): void => void setEpoch.run(to),
    /** Adds a hook, which is idle and new. @returns its id */
    add: recordInserter(hooks.add),
    /** @param expiresAt `progress.hooks_evaluated` at which a live hook expires; null for never */
    setDefinition: (id: number, definition: string, url: string, expiresAt: number | null) =>
      void setDefinition.run(id, definition, url, expiresAt),
    remove: (id: number, now: number) => void remove.run(id, now),

    /** From now on the hook shares the cursor of the live hooks. */
    goLive: (id: number, expiresAt: number | null) => void join.run(id, expiresAt),
    /** The hook leaves the live hooks, and gets their cursor. */
    leaveLive: (id: number) => void leave.run(id, IDLE),
    catchUp: (id: number) => void leave.run(id, CATCHING_UP),
    /** Pauses a hook, which leaves the live hooks. @param wasEnabled whether it resumes as an enabled hook */
    pause: (id: number, wasEnabled: boolean) => void leave.run(id, wasEnabled ? PAUSED : PAUSED_IDLE),
    /** @param stuckDelivery the delivery to send first when the hook is enabled again */
    setStatus: (id: number, status: HookStatus, reason: string | null = null, stuckDelivery: number | null = null) =>
      void setStatus.run(id, storedStatus.numberOf(status), reason, stuckDelivery),
    setCursor: (id: number, { height, hash }: Cursor) => void setCursor.run(id, height, hash),
    /** Begins the budgets of a hook that isn't live again. */
    openWindow: (id: number) => void openWindow.run(id),
    /** Counts a block that a hook evaluated while it catches up. */
    advance: (id: number, { height, hash }: Cursor, now: number) => void advanceOne.run(id, height, hash, now),
    occurred: (id: number, now: number, height: number) => void occurred.run(id, now, height),
    /** Combines `occurred` and `nextSequence`. */
    occurredNext: (id: number, now: number, height: number): number => occurredNext.get(id, now, height)?.sequence ?? 0,
    nextSequence: (id: number): number => nextSequence.get(id)?.sequence ?? 0,
    delivered: (id: number, now: number, status: number | null) => void delivered.run(id, now, status),
    failed: (id: number, status: number | null) => void failed.run(id, status),
    deleteRow: (id: number) => void hooks.removeIfPresent({ id }),
  };
}

/** Whether a hook evaluates blocks. */
export const isEnabled = ({ stage }: Pick<HookRecord, 'stage'>): boolean => stage === 'live' || stage === 'catching_up';

/** Whether the log was restored to an earlier point, and the hook waits until somebody resumes it. */
export const isPaused = ({ stage }: Pick<HookRecord, 'stage'>): boolean =>
  stage === 'paused' || stage === 'paused_idle';

/**
 * Whether a queue of a hook is sent. A paused hook sends nothing. A disabled hook sends only requested deliveries, but an
 * expired hook also sends its live queue.
 */
export const isSendable = (hook: Pick<HookRecord, 'stage' | 'status'>, queue: QueueName): boolean =>
  !isPaused(hook) && (queue !== 'live' || isEnabled(hook) || hook.status === 'expired');
