/** Transactions that wait, or were dropped while they did. */
import type { Database } from 'bun:sqlite';
import type { Cursor, OffsetPage, Page } from '../model/page.ts';
import type { OfferedFee, PendingTransaction, PendingTransactionDetail } from '../model/transaction.ts';
import { decimalOf } from '../rows/amounts.ts';
import { prepared } from '../rows/statement.ts';
import { MEMPOOL_STATE, mempoolStatus, typeWord } from '../rows/words.ts';
import { bytesAt, keysetPage, numberAt } from './page.ts';
import { mined, type SpentRow, spentOf, waiting } from './summary.ts';

/** The columns of {@link PendingRow}. */
export const pendingColumns = `${waiting.columns}, m.state, m.received_at, m.receipt_block_height`;
const pending = `SELECT ${pendingColumns} FROM mempool_transactions m ${waiting.joins}`;
const pendingOfPrincipal = `SELECT ${pendingColumns} FROM pending_principals pp
                              JOIN mempool_transactions m ON m.tx_id = pp.tx_id ${waiting.joins}`;

export const sql = {
  total: 'SELECT mempool_pending AS total FROM progress',
  version: 'SELECT mempool_version AS version FROM progress',
  fees: `SELECT type, fee, count(*) AS transactions FROM mempool_transactions
          WHERE state = ${MEMPOOL_STATE.pending} GROUP BY type, fee ORDER BY type, fee`,
  from: `${pending}
          WHERE m.state = ${MEMPOOL_STATE.pending} AND (m.received_at, m.tx_id) <= (?1, ?2)
          ORDER BY m.received_at DESC, m.tx_id DESC LIMIT ?3`,
  before: `${pending}
            WHERE m.state = ${MEMPOOL_STATE.pending} AND (m.received_at, m.tx_id) > (?1, ?2)
            ORDER BY m.received_at, m.tx_id LIMIT ?3`,
  byId: `SELECT ${pendingColumns}, m.replaced_by_tx_id, m.raw
           FROM mempool_transactions m ${waiting.joins} WHERE m.tx_id = ?1`,
  mined: `SELECT ${mined.columns}, ${MEMPOOL_STATE.pending} AS state, r.received_at, r.receipt_block_height,
                 NULL AS replaced_by_tx_id, b.raw
            FROM transactions t JOIN mined_receipts r ON r.position = t.position
            JOIN transaction_bodies b ON b.position = t.position ${mined.joins} WHERE t.tx_id = ?1`,
  state: 'SELECT state FROM mempool_transactions WHERE tx_id = ?1',
  ofPrincipalTotal: `SELECT c.principal_id, c.transactions AS total
                       FROM principals p JOIN pending_counts c ON c.principal_id = p.id WHERE p.address = ?1`,
  ofPrincipalAt: `SELECT tx_id FROM pending_principals WHERE principal_id = ?1
                   ORDER BY received_at DESC, tx_id DESC LIMIT ?2 OFFSET ?3`,
  ofPrincipalFrom: `${pendingOfPrincipal}
                     WHERE pp.principal_id = ?4 AND (pp.received_at, pp.tx_id) <= (?1, ?2)
                     ORDER BY pp.received_at DESC, pp.tx_id DESC LIMIT ?3`,
  ofPrincipalBefore: `${pendingOfPrincipal}
                       WHERE pp.principal_id = ?4 AND (pp.received_at, pp.tx_id) > (?1, ?2)
                       ORDER BY pp.received_at, pp.tx_id LIMIT ?3`,
};

/** A pending transaction as its table has it. */
export interface PendingRow extends SpentRow {
  state: number;
  received_at: number;
  receipt_block_height: number;
}

interface DetailRow extends PendingRow {
  replaced_by_tx_id: Uint8Array | null;
  raw: Uint8Array;
}

const MICROSECONDS = 1_000_000;

/** Bytes behind every transaction id. */
const LAST_ID = new Uint8Array(33).fill(0xff);

/** The pending transaction of a row. */
export const pendingOf = (row: PendingRow): PendingTransaction => ({
  ...spentOf(row),
  status: mempoolStatus(row.state),
  receiptTime: Math.round(row.received_at / MICROSECONDS),
  receiptBlockHeight: row.receipt_block_height,
});

export type MempoolQueries = ReturnType<typeof mempoolQueries>;

export function mempoolQueries(db: Database) {
  const total = prepared<{ total: number }, []>(db, sql.total);
  const version = prepared<{ version: number }, []>(db, sql.version);
  const fees = prepared<{ type: number; fee: string; transactions: number }, []>(db, sql.fees);
  const from = prepared<PendingRow, [number, Uint8Array, number]>(db, sql.from);
  const before = prepared<PendingRow, [number, Uint8Array, number]>(db, sql.before);
  const byId = prepared<DetailRow, [Uint8Array]>(db, sql.byId);
  const minedById = prepared<DetailRow, [Uint8Array]>(db, sql.mined);
  const state = prepared<{ state: number }, [Uint8Array]>(db, sql.state);
  const ofPrincipalTotal = prepared<{ principal_id: number; total: number }, [string]>(db, sql.ofPrincipalTotal);
  const ofPrincipalAt = prepared<{ tx_id: Uint8Array }, [number, number, number]>(db, sql.ofPrincipalAt);
  const ofPrincipalFrom = prepared<PendingRow, [number, Uint8Array, number, number]>(db, sql.ofPrincipalFrom);
  const ofPrincipalBefore = prepared<PendingRow, [number, Uint8Array, number, number]>(db, sql.ofPrincipalBefore);

  /** A list by receipt, newest first, from what finds its rows by the two parts of a key. */
  const byReceipt = (
    limit: number,
    at: Cursor | null,
    count: number,
    rowsFrom: (receivedAt: number, txId: Uint8Array, count: number) => PendingRow[],
    rowsBefore: (receivedAt: number, txId: Uint8Array, count: number) => PendingRow[],
  ): Page<PendingTransaction> =>
    keysetPage<PendingRow, PendingTransaction>({
      limit,
      at,
      total: count,
      rowsFrom: (key, rows) =>
        key === null
          ? rowsFrom(Number.MAX_SAFE_INTEGER, LAST_ID, rows)
          : rowsFrom(numberAt(key, 0), bytesAt(key, 1), rows),
      rowsBefore: (key, rows) => rowsBefore(numberAt(key, 0), bytesAt(key, 1), rows),
      keyOf: (row) => [row.received_at, row.tx_id.toHex()],
      itemOf: pendingOf,
    });

  const detailOf = (row: DetailRow): PendingTransactionDetail => ({
    ...pendingOf(row),
    replacedByTxId: row.replaced_by_tx_id,
    raw: row.raw,
  });

  function find(txId: Uint8Array): PendingTransactionDetail | undefined {
    const row = byId.get(txId);
    return row === null ? undefined : detailOf(row);
  }

  return {
    async page(limit: number, at: Cursor | null): Promise<Page<PendingTransaction>> {
      return byReceipt(
        limit,
        at,
        total.get()?.total ?? 0,
        (...key) => from.all(...key),
        (...key) => before.all(...key),
      );
    },

    async ofPrincipal(principal: string, limit: number, at: Cursor | null): Promise<Page<PendingTransaction>> {
      const counted = ofPrincipalTotal.get(principal);
      if (counted === null)
        return byReceipt(
          limit,
          at,
          0,
          () => [],
          () => [],
        );
      return byReceipt(
        limit,
        at,
        counted.total,
        (...key) => ofPrincipalFrom.all(...key, counted.principal_id),
        (...key) => ofPrincipalBefore.all(...key, counted.principal_id),
      );
    },

    fees: async (): Promise<OfferedFee[]> =>
      fees.all().map(({ type, fee, transactions }) => ({
        type: typeWord(type),
        fee: BigInt(decimalOf(fee)),
        transactions,
      })),

    version: async (): Promise<number> => version.get()?.version ?? 0,

    find,

    /** A transaction that was announced: as it waits, or as it waited before a block held it. */
    findAnnounced(txId: Uint8Array): PendingTransactionDetail | undefined {
      const row = byId.get(txId) ?? minedById.get(txId);
      return row === null ? undefined : detailOf(row);
    },

    detailsOfPrincipal(principal: string, limit: number, offset: number): OffsetPage<PendingTransactionDetail> {
      const counted = ofPrincipalTotal.get(principal);
      if (counted === null || offset >= counted.total) return { items: [], total: counted?.total ?? 0 };
      const items = ofPrincipalAt.all(counted.principal_id, limit, offset).flatMap(({ tx_id }) => find(tx_id) ?? []);
      return { items, total: counted.total };
    },

    state: (txId: Uint8Array): number | undefined => state.get(txId)?.state,
  };
}
