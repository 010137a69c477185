/**
 * Drops of transactions that don't wait: the node posts some before it announces the transaction, and after a Bitcoin fork it
 * drops what blocks have mined that are orphaned only later. A drop holds once its transaction would begin to wait.
 */
import type { Database } from 'bun:sqlite';
import { inserterIfAbsent } from '../rows/table.ts';
import type { Stored } from '../rows/table-shape.ts';
import { MEMPOOL_STATE, type MempoolState, storedMempoolState } from '../rows/words.ts';
import { earlyDropsTable } from '../tables/mempool.ts';
import { KEPT_BLOCKS } from './block-payloads.ts';

/** What the node said of a transaction that it dropped. */
export interface Drop {
  /** One of the dropped states. */
  state: MempoolState;
  replacedBy: Uint8Array | null;
}

/**
 * Blocks after its drop within which a transaction may be announced that the drop was meant for. Real nodes take some
 * milliseconds. Who announces it later has broadcast it again, and the node has it.
 */
export const LATE_BLOCKS = 10;

export type EarlyDrops = ReturnType<typeof earlyDrops>;

/** What keeps such drops through this connection. */
export function earlyDrops(db: Database) {
  const add = inserterIfAbsent(db, earlyDropsTable);
  const take = db.prepare<Stored<typeof earlyDropsTable, 'state' | 'replaced_by_tx_id' | 'height'>, [Uint8Array]>(
    'DELETE FROM early_drops WHERE tx_id = ?1 RETURNING state, replaced_by_tx_id, height',
  );
  const forget = db.prepare<null, [number]>('DELETE FROM early_drops WHERE height < ?1');

  return {
    /** @param tipHeight when the node posted it @returns whether it is the first of its transaction */
    keep: (txId: Uint8Array, { state, replacedBy }: Drop, tipHeight: number): boolean =>
      add({ tx_id: txId, state, replaced_by_tx_id: replacedBy, height: tipHeight }) !== null,

    /**
     * Takes the drop of a transaction that would begin to wait, or was announced again.
     * @param since the tip's height at which it was posted, or later
     * @returns null where there is none, and where it is older
     */
    take(txId: Uint8Array, since = 0): Drop | null {
      const row = take.get(txId);
      if (row === null || row.height < since) return null;
      return { state: MEMPOOL_STATE[storedMempoolState.wordOf(row.state)], replacedBy: row.replaced_by_tx_id };
    },

    /** Forgets drops that are older than any reorganization reaches. */
    settle: (tipHeight: number): void => void forget.run(tipHeight - KEPT_BLOCKS),
  };
}
