/** When transactions of the chain reached the mempool: what a reorganization brings back waits since then. */
import type { Database } from 'bun:sqlite';
import { positionOf } from '../../chain/position.ts';
import { inserterIfAbsent } from '../rows/table.ts';
import type { Stored } from '../rows/table-shape.ts';
import { minedReceiptsTable } from '../tables/mempool.ts';
import { KEPT_BLOCKS } from './block-payloads.ts';
import type { Receipt } from './mempool-rows.ts';

export type MinedReceipts = ReturnType<typeof minedReceipts>;

/** What keeps receipts through this connection, by the position of their transaction in the chain. */
export function minedReceipts(db: Database) {
  const add = inserterIfAbsent(db, minedReceiptsTable);
  const take = db.prepare<Stored<typeof minedReceiptsTable, 'received_at' | 'receipt_block_height'>, [number]>(
    'DELETE FROM mined_receipts WHERE position = ?1 RETURNING received_at, receipt_block_height',
  );
  const forget = db.prepare<null, [number]>('DELETE FROM mined_receipts WHERE position < ?1');
  /** The first position that a reorganization may reach. */
  const reach = (tipHeight: number): number => positionOf(Math.max(0, tipHeight - KEPT_BLOCKS), 0);

  return {
    /**
     * Keeps a receipt, unless there is one, or no reorganization reaches the transaction.
     * @returns whether it is new
     */
    keep: (position: number, { time, height }: Receipt, tipHeight: number): boolean =>
      position >= reach(tipHeight) && add({ position, received_at: time, receipt_block_height: height }) !== null,

    /** Takes the receipt of a transaction that left the chain; null where it was never announced. */
    take(position: number): Receipt | null {
      const row = take.get(position);
      return row === null ? null : { time: row.received_at, height: row.receipt_block_height };
    },

    /** Forgets receipts that no reorganization needs once the chain has reached a height. */
    settle: (tipHeight: number): void => void forget.run(reach(tipHeight)),
  };
}
