/** Backfills: jobs that deliver past blocks to a hook. */
import type { Database } from 'bun:sqlite';
import type { Cursor, Page } from '../model/page.ts';
import { down, orderedList } from '../queries/list.ts';
import { readPage } from '../queries/page.ts';
import { type BackfillState, storedBackfillState } from '../rows/enums.ts';
import { modelColumns, optional, query, type Stored, statements } from '../rows/statement.ts';
import { type Renamed, table } from '../rows/table.ts';
import { hookBackfillsTable } from '../rows/tables.ts';
import { isOpen as isOpenDelivery } from './delivery-log.ts';
import type { Backfill } from './model.ts';

const QUEUED = storedBackfillState.numberOf('queued');
const RUNNING = storedBackfillState.numberOf('running');
const COMPLETED = storedBackfillState.numberOf('completed');
const CANCELLED = storedBackfillState.numberOf('cancelled');
/** Condition for backfills that are not done, which have an index. */
const isOpen = `state <= ${RUNNING}`;
/** Finds a waiting delivery of the backfill ?1. */
const openDelivery = `SELECT 1 FROM hook_deliveries WHERE backfill_id = ?1 AND ${isOpenDelivery}`;

type Row = Renamed<Stored<'hook_backfills'>>;

const columns = modelColumns('b', Object.keys(hookBackfillsTable.columns));

/** Statements by name; the plan test reads them. */
export const sql = {
  newest: orderedList<Row>({ select: `SELECT ${columns} FROM hook_backfills b`, where: 'hook_id = ?1' }, [down('id')]),
  byUuid: query<Row, [string, number]>`SELECT ${columns} FROM hook_backfills b WHERE uuid = ?1 AND hook_id = ?2`,
  byId: query<Row, [number]>`SELECT ${columns} FROM hook_backfills b WHERE id = ?1`,
  // The oldest of each hook, because a hook's backfills run one after the other; and the oldest dry run, which waits for no
  // receiver.
  next: query<Pick<Row, 'id'>>`
    SELECT min(id) AS id FROM hook_backfills INDEXED BY hook_backfills_open WHERE ${isOpen}
     GROUP BY hook_id, dry_run ORDER BY 1`,
  openOf: query<{ count: number }, [number]>`
    SELECT count(*) AS count FROM hook_backfills WHERE hook_id = ?1 AND ${isOpen}`,
  total: query<{ total: number }, [number]>`SELECT count(*) AS total FROM hook_backfills WHERE hook_id = ?1`,
};

const toBackfill = (row: Row): Backfill => ({
  ...row,
  state: storedBackfillState.nameOf(row.state, row.id),
  dryRun: row.dryRun === 1,
});

/** Reads backfills. */
export function backfillReads(db: Database) {
  const { byUuid, byId, next, openOf, total, newest } = statements(db, sql);
  return {
    find: (uuid: string, hookId: number): Backfill | undefined => optional(byUuid.get(uuid, hookId), toBackfill),
    get: (id: number): Backfill | undefined => optional(byId.get(id), toBackfill),
    /** Ids of the oldest unfinished backfill and the oldest unfinished dry run of each hook. */
    next: (): number[] => next.all().map(({ id }) => id),
    openOf: (hookId: number): number => openOf.get(hookId)?.count ?? 0,
    /** Backfills of a hook, newest first. */
    page: (hookId: number, limit: number, cursor: Cursor | null): Page<Backfill> =>
      readPage({ limit, cursor, total: total.get(hookId)?.total ?? 0, ...newest([hookId]), itemOf: toBackfill }),
  };
}

const nothingMatched = { blocks: 0, transactions: 0, queued: 0 };

/** Reads and writes backfills. */
export function hookBackfills(db: Database) {
  const { add: insert } = table(db, hookBackfillsTable);
  const deleteOfHook = query<null, [number]>`DELETE FROM hook_backfills WHERE hook_id = ?1`.prepared(db);
  const progress = query<null, [number, number, number, number, number]>`
    UPDATE hook_backfills SET state = ${RUNNING}, next_height = ?2, matched_blocks = matched_blocks + ?3,
           matched_transactions = matched_transactions + ?4, queued = queued + ?5 WHERE id = ?1`.prepared(db);
  const finish = query<null, [number, number, number, string | null]>`
    UPDATE hook_backfills SET state = ?2, finished_at = ?3, error = ?4 WHERE id = ?1 AND ${isOpen}`.prepared(db);
  const cancel = query<null, [number, number]>`
    UPDATE hook_backfills SET state = ${CANCELLED}, finished_at = ?2
     WHERE id = ?1 AND (${isOpen} OR (state = ${COMPLETED} AND EXISTS (${openDelivery})))`.prepared(db);
  const finishOf = query<null, [number, number]>`
    UPDATE hook_backfills SET state = ${CANCELLED}, finished_at = ?2 WHERE hook_id = ?1 AND ${isOpen}`.prepared(db);
  const count = query<null, [number, number, number]>`
    UPDATE hook_backfills SET delivered = delivered + ?2, dead = dead + ?3 WHERE id = ?1`.prepared(db);
  return {
    ...backfillReads(db),
    add(job: { uuid: string; hookId: number; dryRun: boolean; from: number; to: number }, now: number): void {
      insert({
        uuid: job.uuid,
        hook_id: job.hookId,
        state: QUEUED,
        dry_run: job.dryRun ? 1 : 0,
        from_height: job.from,
        to_height: job.to,
        next_height: job.from,
        matched_blocks: 0,
        matched_transactions: 0,
        queued: 0,
        delivered: 0,
        dead: 0,
        created_at: now,
        finished_at: null,
        error: null,
      });
    },
    deleteOfHook: (hookId: number) => void deleteOfHook.run(hookId),
    /** Moves a backfill to a height, and adds to its counts of matches and queued deliveries. */
    advance: (id: number, nextHeight: number, { blocks, transactions, queued } = nothingMatched) =>
      void progress.run(id, nextHeight, blocks, transactions, queued),
    finish: (id: number, state: BackfillState, now: number, error: string | null = null) =>
      void finish.run(id, storedBackfillState.numberOf(state), now, error),
    /** Cancels a backfill that isn't done, or whose deliveries wait. */
    cancel: (id: number, now: number) => void cancel.run(id, now),
    cancelAll: (hookId: number, now: number) => void finishOf.run(hookId, now),
    count: (id: number, { delivered, dead }: { delivered: number; dead: number }) => {
      count.run(id, delivered, dead);
    },
  };
}
