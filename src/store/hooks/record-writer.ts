/** Changes of hooks' rows. */
import type { Database } from 'bun:sqlite';
import { fromHooks, recordColumns } from '../rows/hook-sql.ts';
import { type HookStatus, storedStage, storedStatus } from '../rows/hook-words.ts';
import { numberedInserter } from '../rows/table.ts';
import { hooksTable } from '../tables/hooks.ts';
import type { Cursor } from './model.ts';

const IDLE = storedStage.numberOf('idle');
const LIVE = storedStage.numberOf('live');
const CATCHING_UP = storedStage.numberOf('catching_up');
const NEW = storedStatus.numberOf('new');
const STREAMING = storedStatus.numberOf('streaming');

/** What a hook begins with. */
interface NewHook {
  uuid: string;
  consumer: string;
  /** Unix milliseconds. */
  createdAt: number;
  /** JSON. */
  definition: string;
  url: string;
}

/** What adds hooks through this connection. It returns the id of each, which is idle and new. */
function recordInserter(db: Database) {
  const insert = numberedInserter(db, hooksTable);
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

/** What changes hooks through this connection. */
export function recordWriter(db: Database) {
  const setDefinition = db.prepare<null, [number, string, string, number | null]>(
    'UPDATE hooks SET definition = ?2, url = ?3, expires_at = ?4 WHERE id = ?1',
  );
  const remove = db.prepare<null, [number, number]>(
    `UPDATE hooks SET stage = ${IDLE}, expires_at = NULL, deleted_at = ?2 WHERE id = ?1`,
  );
  const join = db.prepare<null, [number, number | null]>(
    `UPDATE hooks SET stage = ${LIVE}, joined = (SELECT evaluated FROM hook_progress), expires_at = ?2 WHERE id = ?1`,
  );
  const leave = db.prepare<null, [number, number]>(
    `UPDATE hooks SET stage = ?2, expires_at = NULL,
            (status, cursor_height, cursor_hash, evaluated, last_evaluated_at, last_evaluated_height) =
            (SELECT status, cursor_height, cursor_hash, evaluated, last_evaluated_at, last_evaluated_height
               FROM (SELECT ${recordColumns} ${fromHooks} WHERE h.id = ?1))
      WHERE id = ?1`,
  );
  const setStatus = db.prepare<null, [number, number, string | null, number | null]>(
    'UPDATE hooks SET status = ?2, interrupted_reason = ?3, stuck_delivery = ?4 WHERE id = ?1',
  );
  const setCursor = db.prepare<null, [number, number, Uint8Array]>(
    'UPDATE hooks SET cursor_height = ?2, cursor_hash = ?3 WHERE id = ?1',
  );
  const openWindow = db.prepare<null, [number]>(
    'UPDATE hooks SET window_evaluated = evaluated, window_occurrences = occurrences WHERE id = ?1',
  );
  const advanceOne = db.prepare<null, [number, number, Uint8Array, number]>(
    `UPDATE hooks SET evaluated = evaluated + 1, status = max(status, ${STREAMING}), cursor_height = ?2, cursor_hash = ?3,
            last_evaluated_at = ?4, last_evaluated_height = ?2 WHERE id = ?1`,
  );
  const occurred = db.prepare<null, [number, number, number]>(
    `UPDATE hooks SET occurrences = occurrences + 1, last_occurrence_at = ?2, last_occurrence_height = ?3 WHERE id = ?1`,
  );
  const occurredNext = db.prepare<{ sequence: number }, [number, number, number]>(
    `UPDATE hooks SET occurrences = occurrences + 1, last_occurrence_at = ?2, last_occurrence_height = ?3,
            sequence = sequence + 1 WHERE id = ?1 RETURNING sequence`,
  );
  const nextSequence = db.prepare<{ sequence: number }, [number]>(
    'UPDATE hooks SET sequence = sequence + 1 WHERE id = ?1 RETURNING sequence',
  );
  const delivered = db.prepare<null, [number, number, number | null]>(
    'UPDATE hooks SET consecutive_failures = 0, last_delivery_at = ?2, last_delivery_status = ?3 WHERE id = ?1',
  );
  const failed = db.prepare<null, [number, number | null]>(
    'UPDATE hooks SET consecutive_failures = consecutive_failures + 1, last_delivery_status = ?2 WHERE id = ?1',
  );
  const forget = db.prepare<null, [number]>('DELETE FROM hooks WHERE id = ?1');

  return {
    /** @returns its id; it is idle and new */
    add: recordInserter(db),
    /** @param expiresAt `hook_progress.evaluated` at which a live one is used up, null for none */
    setDefinition: (id: number, definition: string, url: string, expiresAt: number | null) => {
      setDefinition.run(id, definition, url, expiresAt);
    },
    remove: (id: number, now: number) => {
      remove.run(id, now);
    },

    /** The hook moves with the other live ones from now on. */
    goLive: (id: number, expiresAt: number | null) => {
      join.run(id, expiresAt);
    },
    /** The hook moves with the live ones no more; its cursor is where they are. */
    leaveLive: (id: number) => {
      leave.run(id, IDLE);
    },
    catchUp: (id: number) => {
      leave.run(id, CATCHING_UP);
    },
    /** @param stuckDelivery what is to go first when it is enabled again */
    setStatus: (id: number, status: HookStatus, reason: string | null = null, stuckDelivery: number | null = null) => {
      setStatus.run(id, storedStatus.numberOf(status), reason, stuckDelivery);
    },
    setCursor: (id: number, { height, hash }: Cursor) => {
      setCursor.run(id, height, hash);
    },
    /** The budgets of a hook that isn't live begin anew. */
    openWindow: (id: number) => {
      openWindow.run(id);
    },
    /** A block more, of one that catches up. */
    advance: (id: number, { height, hash }: Cursor, now: number) => {
      advanceOne.run(id, height, hash, now);
    },
    occurred: (id: number, now: number, height: number) => {
      occurred.run(id, now, height);
    },
    /** Does what `occurred` does, and returns what `nextSequence` does. */
    occurredNext: (id: number, now: number, height: number): number => occurredNext.get(id, now, height)?.sequence ?? 0,
    nextSequence: (id: number): number => nextSequence.get(id)?.sequence ?? 0,
    delivered: (id: number, now: number, status: number | null) => {
      delivered.run(id, now, status);
    },
    failed: (id: number, status: number | null) => {
      failed.run(id, status);
    },
    forget: (id: number) => {
      forget.run(id);
    },
  };
}
