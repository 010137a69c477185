/** What waits of one type, by fee, and what waits the longest. */
import type { Database } from 'bun:sqlite';
import type { TransactionType } from '../../codec/transaction.ts';
import type { Cursor, CursorKey, Page } from '../model/page.ts';
import type { PendingTransaction } from '../model/transaction.ts';
import { prepared } from '../rows/statement.ts';
import { MEMPOOL_STATE, typeNumbers } from '../rows/words.ts';
import { type PendingRow, pendingColumns, pendingOf } from './mempool.ts';
import { bytesAt, keysetPage, numberAt, textAt } from './page.ts';
import { waiting } from './summary.ts';

const pending = `SELECT ${pendingColumns}, m.size FROM mempool_transactions m ${waiting.joins}
                  WHERE m.state = ${MEMPOOL_STATE.pending} AND m.type = ?1`;
/**
 * The columns of the index that follow the type, and then the id, by which the few that are alike are sorted. Fees are
 * length-prefixed, so that their texts compare as numbers.
 */
const key = '(m.fee, m.receipt_block_height, m.size, m.tx_id)';

export const sql = {
  count: `SELECT count(*) AS n FROM mempool_transactions WHERE state = ${MEMPOOL_STATE.pending} AND type = ?1`,
  first: `${pending} ORDER BY m.fee DESC, m.receipt_block_height DESC, m.size DESC, m.tx_id DESC LIMIT ?2`,
  from: `${pending} AND ${key} <= (?3, ?4, ?5, ?6)
          ORDER BY m.fee DESC, m.receipt_block_height DESC, m.size DESC, m.tx_id DESC LIMIT ?2`,
  before: `${pending} AND ${key} > (?3, ?4, ?5, ?6)
            ORDER BY m.fee, m.receipt_block_height, m.size, m.tx_id LIMIT ?2`,
  oldest: `SELECT tx_id, received_at FROM mempool_transactions
            WHERE state = ${MEMPOOL_STATE.pending} ORDER BY received_at, tx_id LIMIT 1`,
};

interface Row extends PendingRow {
  size: number;
}

type Key = [fee: string, height: number, size: number, txId: string];
type Sought = [fee: string, height: number, size: number, txId: Uint8Array];

const keyOf = ({ fee, receipt_block_height, size, tx_id }: Row): Key => [
  fee,
  receipt_block_height,
  size,
  tx_id.toHex(),
];
const soughtBy = (key: CursorKey): Sought => [textAt(key, 0), numberAt(key, 1), numberAt(key, 2), bytesAt(key, 3)];

const MICROSECONDS = 1_000_000;

/** Compares keys part by part: negative where the first is less. */
function compared(a: Key, b: Key): number {
  const at = a.findIndex((part, index) => part !== b[index]);
  if (at === -1) return 0;
  return (a[at] ?? 0) < (b[at] ?? 0) ? -1 : 1;
}

export function pendingOfType(db: Database) {
  const count = prepared<{ n: number }, [number]>(db, sql.count);
  const first = prepared<Row, [number, number]>(db, sql.first);
  const from = prepared<Row, [number, number, ...Sought]>(db, sql.from);
  const before = prepared<Row, [number, number, ...Sought]>(db, sql.before);
  const oldest = prepared<{ tx_id: Uint8Array; received_at: number }, []>(db, sql.oldest);

  /** The page of a type whose payloads have one or several wire ids: the rows of each are merged. */
  function page(type: TransactionType, limit: number, at: Cursor | null): Page<PendingTransaction> {
    const numbers = typeNumbers(type);
    const merged = (sign: 1 | -1, most: number, rowsOf: (number: number) => Row[]): Row[] =>
      numbers
        .flatMap(rowsOf)
        .sort((a, b) => sign * compared(keyOf(a), keyOf(b)))
        .slice(0, most);
    return keysetPage<Row, PendingTransaction>({
      limit,
      at,
      total: numbers.reduce((sum, number) => sum + (count.get(number)?.n ?? 0), 0),
      rowsFrom: (key, most) =>
        merged(-1, most, (number) =>
          key === null ? first.all(number, most) : from.all(number, most, ...soughtBy(key)),
        ),
      rowsBefore: (key, most) => merged(1, most, (number) => before.all(number, most, ...soughtBy(key))),
      keyOf,
      itemOf: pendingOf,
    });
  }

  return {
    /** Pending transactions of a type, the highest fee first. */
    ofType: async (type: TransactionType, limit: number, at: Cursor | null): Promise<Page<PendingTransaction>> =>
      page(type, limit, at),

    /** What waits the longest, since a time in Unix seconds; null where nothing waits. */
    async oldest(): Promise<{ txId: Uint8Array; receiptTime: number } | null> {
      const row = oldest.get();
      return row === null ? null : { txId: row.tx_id, receiptTime: Math.round(row.received_at / MICROSECONDS) };
    },
  };
}
