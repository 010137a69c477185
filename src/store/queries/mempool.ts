/** Transactions that wait, or were dropped while they did. */
import type { Database } from 'bun:sqlite';
import type { CursorKey, Page, PendingTransaction, PendingTransactionDetail } from '../model.ts';
import { mempoolStatus } from '../rows.ts';
import { prepared } from '../statement.ts';
import { bytesAt, keysetPage, numberAt } from './page.ts';
import { type SpentRow, spentOf, waiting } from './summary.ts';

export const sql = {
  total: 'SELECT mempool_pending AS total FROM progress',
  version: 'SELECT mempool_version AS version FROM progress',
  from: `SELECT ${waiting.columns}, m.state, m.received_at, m.receipt_block_height
           FROM mempool_transactions m ${waiting.joins}
          WHERE m.state = 0 AND (m.received_at, m.tx_id) <= (?1, ?2)
          ORDER BY m.received_at DESC, m.tx_id DESC LIMIT ?3`,
  before: `SELECT received_at, tx_id FROM mempool_transactions
            WHERE state = 0 AND (received_at, tx_id) > (?1, ?2) ORDER BY received_at, tx_id LIMIT ?3`,
  byId: `SELECT ${waiting.columns}, m.state, m.received_at, m.receipt_block_height, m.replaced_by_tx_id, m.raw
           FROM mempool_transactions m ${waiting.joins} WHERE m.tx_id = ?1`,
  state: 'SELECT state FROM mempool_transactions WHERE tx_id = ?1',
};

interface KeyRow {
  received_at: number;
  tx_id: Uint8Array;
}

interface PendingRow extends SpentRow {
  state: number;
  received_at: number;
  receipt_block_height: number;
}

interface DetailRow extends PendingRow {
  replaced_by_tx_id: Uint8Array | null;
  raw: Uint8Array;
}

const MICROSECONDS = 1_000_000;

/** Behind every transaction id. */
const LAST_ID = new Uint8Array(33).fill(0xff);

const pendingOf = (row: PendingRow): PendingTransaction => ({
  ...spentOf(row),
  status: mempoolStatus(row.state),
  receiptTime: Math.round(row.received_at / MICROSECONDS),
  receiptBlockHeight: row.receipt_block_height,
});

export type MempoolQueries = ReturnType<typeof mempoolQueries>;

export function mempoolQueries(db: Database) {
  const total = prepared<{ total: number }, []>(db, sql.total);
  const version = prepared<{ version: number }, []>(db, sql.version);
  const from = prepared<PendingRow, [number, Uint8Array, number]>(db, sql.from);
  const before = prepared<KeyRow, [number, Uint8Array, number]>(db, sql.before);
  const byId = prepared<DetailRow, [Uint8Array]>(db, sql.byId);
  const state = prepared<{ state: number }, [Uint8Array]>(db, sql.state);

  return {
    async page(limit: number, cursor: CursorKey | null): Promise<Page<PendingTransaction>> {
      return keysetPage<PendingRow | KeyRow, PendingTransaction>({
        limit,
        from: cursor,
        total: total.get()?.total ?? 0,
        rowsFrom: (key, count) =>
          key === null
            ? from.all(Number.MAX_SAFE_INTEGER, LAST_ID, count)
            : from.all(numberAt(key, 0), bytesAt(key, 1), count),
        rowsBefore: (key, count) => before.all(numberAt(key, 0), bytesAt(key, 1), count),
        keyOf: (row) => [row.received_at, row.tx_id.toHex()],
        itemOf: (row) => pendingOf(row as PendingRow),
      });
    },

    version: async (): Promise<number> => version.get()?.version ?? 0,

    find(txId: Uint8Array): PendingTransactionDetail | undefined {
      const row = byId.get(txId);
      if (row === null) return undefined;
      return { ...pendingOf(row), replacedByTxId: row.replaced_by_tx_id, raw: row.raw };
    },

    state: (txId: Uint8Array): number | undefined => state.get(txId)?.state,
  };
}
