/** Deliveries whose time is over: their bodies go first, then the rows. */
import type { Database } from 'bun:sqlite';
import { storedState } from '../rows/hook-words.ts';
import { isSettled } from './delivery-row.ts';

const DELIVERED = storedState.numberOf('delivered');

/** Statements by name; the plan test reads them. */
export const sql = {
  // What became of those before is known: rows whose bodies are gone are not walked again.
  aged: `SELECT id, created_at FROM hook_deliveries
          WHERE ${isSettled} AND (created_at, id) > (?1, ?2) AND created_at < ?3 ORDER BY created_at, id LIMIT ?4`,
  settledBefore: `SELECT id FROM hook_deliveries WHERE ${isSettled} AND created_at < ?1 ORDER BY created_at, id LIMIT ?2`,
  newestSurplus: `SELECT id FROM hook_deliveries WHERE hook_id = ?1 AND state = ${DELIVERED}
                   ORDER BY id DESC LIMIT 1 OFFSET ?2`,
  surplus: `SELECT id FROM hook_deliveries WHERE hook_id = ?1 AND state = ${DELIVERED} AND id > ?2 AND id <= ?3
             ORDER BY id LIMIT ?4`,
  allOf: 'SELECT id FROM hook_deliveries WHERE hook_id = ?1 ORDER BY id LIMIT ?2',
};

/** When a delivery was made, and its id. */
export interface Made {
  createdAt: number;
  id: number;
}

/** What forgets deliveries through this connection. */
export function deliveryForgetting(db: Database) {
  const aged = db.prepare<{ id: number; created_at: number }, [number, number, number, number]>(sql.aged);
  const settledBefore = db.prepare<{ id: number }, [number, number]>(sql.settledBefore);
  const newestSurplus = db.prepare<{ id: number }, [number, number]>(sql.newestSurplus);
  const surplus = db.prepare<{ id: number }, [number, number, number, number]>(sql.surplus);
  const allOf = db.prepare<{ id: number }, [number, number]>(sql.allOf);
  const forgetAttempts = db.prepare<null, [number]>('DELETE FROM hook_attempts WHERE delivery_id = ?1');
  const forgetBody = db.prepare<null, [number]>('DELETE FROM hook_bodies WHERE delivery_id = ?1');
  const forgetRow = db.prepare<null, [number]>('DELETE FROM hook_deliveries WHERE id = ?1');

  function forget(rows: readonly { id: number }[]): number {
    for (const { id } of rows) {
      forgetAttempts.run(id);
      forgetBody.run(id);
      forgetRow.run(id);
    }
    return rows.length;
  }

  return {
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
