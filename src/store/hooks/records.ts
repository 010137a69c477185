/** The rows of hooks, and where live ones stand. */
import type { Database } from 'bun:sqlite';
import { fromHooks, hookNow, recordColumns } from '../rows/hook-sql.ts';
import { type HookStatus, storedStage, storedStatus } from '../rows/hook-words.ts';
import { prepared } from '../rows/statement.ts';
import { hookProgress } from './hook-progress.ts';
import type { HookRecord } from './model.ts';
import { type RecordRow, recordOf } from './record-row.ts';
import { recordWriter } from './record-writer.ts';

const IDLE = storedStage.numberOf('idle');
const LIVE = storedStage.numberOf('live');
const CATCHING_UP = storedStage.numberOf('catching_up');

/** Statements by name; the plan test reads them. */
export const sql = {
  byUuid: `SELECT ${recordColumns} ${fromHooks} WHERE h.uuid = ?1 AND h.consumer = ?2 AND (h.deleted_at IS NULL OR ?3)`,
  // The plus keeps the planner off an index that it takes for a list of a few hooks.
  byId: `SELECT ${recordColumns} ${fromHooks} WHERE h.id = ?1 AND +h.deleted_at IS NULL`,
  page: `SELECT ${recordColumns} ${fromHooks} WHERE h.consumer = ?1 AND h.deleted_at IS NULL
          ORDER BY h.created_at DESC, h.uuid LIMIT ?2 OFFSET ?3`,
  total: 'SELECT count(*) AS total FROM hooks WHERE consumer = ?1 AND deleted_at IS NULL',
  idsAt: `SELECT id FROM hooks WHERE stage = ?1 AND stage > ${IDLE}`,
  active: `SELECT ${recordColumns} ${fromHooks} WHERE h.stage = ?1 AND h.stage > ${IDLE}`,
  expiring: `SELECT h.id FROM hooks h WHERE h.stage = ${LIVE} AND h.expires_at IS NOT NULL AND h.expires_at <= ?1`,
  deletedBefore: 'SELECT id FROM hooks WHERE deleted_at < ?1 ORDER BY id LIMIT 1',
  withLongLog: `SELECT id FROM hooks WHERE sequence > ?1`,
  consumers: `SELECT consumer, count(*) AS hooks FROM hooks WHERE deleted_at IS NULL GROUP BY consumer ORDER BY consumer`,
  owner: 'SELECT consumer FROM hooks WHERE uuid = ?1',
  counts: `SELECT h.stage > ${IDLE} AS enabled, ${hookNow.status} AS status, min(h.id) AS id, count(*) AS count ${fromHooks} WHERE h.deleted_at IS NULL GROUP BY 1, 2`,
};

/** What reads the records through this connection. */
function recordReader(db: Database) {
  const byUuid = prepared<RecordRow, [string, string, number]>(db, sql.byUuid);
  const byId = prepared<RecordRow, [number]>(db, sql.byId);
  const page = prepared<RecordRow, [string, number, number]>(db, sql.page);
  const total = prepared<{ total: number }, [string]>(db, sql.total);
  const active = prepared<RecordRow, [number]>(db, sql.active);
  const idsAt = prepared<{ id: number }, [number]>(db, sql.idsAt);
  const expiring = prepared<{ id: number }, [number]>(db, sql.expiring);
  const counts = prepared<{ enabled: number; status: number; id: number; count: number }, []>(db, sql.counts);
  const consumers = prepared<{ consumer: string; hooks: number }, []>(db, sql.consumers);
  const owner = prepared<{ consumer: string }, [string]>(db, sql.owner);
  const withLongLog = db.prepare<{ id: number }, [number]>(sql.withLongLog);
  const deletedBefore = db.prepare<{ id: number }, [number]>(sql.deletedBefore);

  /** Number of a consumer's hooks, without those that were deleted. */
  const count = (consumer: string): number => total.get(consumer)?.total ?? 0;

  return {
    /** Only the consumer's own. @param deleted whether a deleted one is found too */
    find: (uuid: string, consumer: string, deleted = false): HookRecord | undefined => {
      const row = byUuid.get(uuid, consumer, deleted ? 1 : 0);
      return row === null ? undefined : recordOf(row);
    },
    get: (id: number): HookRecord | undefined => {
      const row = byId.get(id);
      return row === null ? undefined : recordOf(row);
    },
    /** Newest first, ties by uuid. */
    page: (consumer: string, limit: number, offset: number): { items: HookRecord[]; total: number } => ({
      items: page.all(consumer, limit, offset).map(recordOf),
      total: count(consumer),
    }),
    count,
    /** All of a consumer, newest first. */
    all: (consumer: string): HookRecord[] => page.all(consumer, -1, 0).map(recordOf),
    live: (): HookRecord[] => active.all(LIVE).map(recordOf),
    /** Who has hooks, and how many. */
    consumers: (): { consumer: string; hooks: number }[] => consumers.all(),
    /** Whose a hook is or was, undefined for one that is not known. */
    owner: (uuid: string): string | undefined => owner.get(uuid)?.consumer,
    /** Ids of those that catch up. */
    catchingUp: (): number[] => idsAt.all(CATCHING_UP).map(({ id }) => id),
    /** How many there are of each kind. */
    counts: (): { status: HookStatus; enabled: boolean; count: number }[] =>
      counts.all().map(({ enabled, status, id, count }) => ({
        status: storedStatus.wordOf(status, id),
        enabled: enabled === 1,
        count,
      })),
    /** Hooks that were sent so many deliveries. */
    withLongLog: (least: number): number[] => withLongLog.all(least).map(({ id }) => id),
    /** One that was deleted before a time, null where there is none. */
    deletedBefore: (before: number): number | null => deletedBefore.get(before)?.id ?? null,
    /** Live ones that so many evaluated blocks use up. */
    usedUp: (evaluated: number): number[] => expiring.all(evaluated).map(({ id }) => id),
  };
}

export const hookRecords = (db: Database) => ({ ...recordReader(db), ...recordWriter(db), ...hookProgress(db) });
/** Whether its live lane goes: what an expired one was still owed is sent. */
export const isSendable = ({ stage, status }: HookRecord): boolean => stage !== 'idle' || status === 'expired';
