/** What waits, filtered and ordered as v1 offers it, and the fees and sizes of all. */
import type { Database } from 'bun:sqlite';
import type { OffsetPage } from '../model/page.ts';
import type { PendingFeeAndSize, PendingFilter, PendingOrder, PendingTransactionDetail } from '../model/transaction.ts';
import { decimalOf } from '../rows/amounts.ts';
import { prepared } from '../rows/statement.ts';
import { MEMPOOL_STATE, PAYLOAD, typeWord } from '../rows/words.ts';
import type { MempoolQueries } from './mempool.ts';

const key = 'm.tx_id, m.received_at, m.fee, m.size';
const all = (order: string) =>
  `SELECT m.tx_id FROM mempool_transactions m WHERE m.state = ${MEMPOOL_STATE.pending} ORDER BY ${order} LIMIT ?1 OFFSET ?2`;

const lists = {
  'age.asc': all('m.received_at, m.tx_id'),
  'age.desc': all('m.received_at DESC, m.tx_id DESC'),
  'size.asc': all('m.size, m.tx_id'),
  'size.desc': all('m.size DESC, m.tx_id DESC'),
  'fee.asc': all('m.fee, m.tx_id'),
  'fee.desc': all('m.fee DESC, m.tx_id DESC'),
};

export const sql = {
  ...lists,
  total: 'SELECT mempool_pending AS total FROM progress',
  principal: 'SELECT id FROM principals WHERE address = ?1',
  ofSender: `SELECT ${key} FROM mempool_transactions m WHERE m.state = ${MEMPOOL_STATE.pending} AND m.sender_id = ?1
              AND (?2 IS NULL OR (m.recipient_id = ?2 AND m.type = ${PAYLOAD.token_transfer}))`,
  ofRecipient: `SELECT ${key} FROM mempool_transactions m WHERE m.state = ${MEMPOOL_STATE.pending} AND m.recipient_id = ?1 AND m.type = ${PAYLOAD.token_transfer}`,
  ofPrincipal: `SELECT ${key} FROM pending_principals p JOIN mempool_transactions m ON m.tx_id = p.tx_id
                 WHERE p.principal_id = ?1`,
  feesAndSizes: `SELECT type, fee, receipt_block_height, size FROM mempool_transactions WHERE state = ${MEMPOOL_STATE.pending}`,
};

interface KeyRow {
  tx_id: Uint8Array;
  received_at: number;
  fee: string;
  size: number;
}

const ascending: Readonly<Record<PendingOrder['by'], (a: KeyRow, b: KeyRow) => number>> = {
  age: (a, b) => a.received_at - b.received_at,
  size: (a, b) => a.size - b.size,
  fee: (a, b) => (a.fee < b.fee ? -1 : a.fee > b.fee ? 1 : 0),
};

export function pendingSearch(db: Database, mempool: MempoolQueries) {
  const pages = new Map(
    Object.entries(lists).map(([name, text]) => [name, prepared<{ tx_id: Uint8Array }, [number, number]>(db, text)]),
  );
  const totalOf = prepared<{ total: number }, []>(db, sql.total);
  const principal = prepared<{ id: number }, [string]>(db, sql.principal);
  const ofSender = prepared<KeyRow, [number, number | null]>(db, sql.ofSender);
  const ofRecipient = prepared<KeyRow, [number]>(db, sql.ofRecipient);
  const ofPrincipal = prepared<KeyRow, [number]>(db, sql.ofPrincipal);
  const feesAndSizes = prepared<{ type: number; fee: string; receipt_block_height: number; size: number }, []>(
    db,
    sql.feesAndSizes,
  );

  const idOf = (address: string): number | undefined => principal.get(address)?.id;
  const detailsOf = (rows: readonly { tx_id: Uint8Array }[]): PendingTransactionDetail[] =>
    rows.flatMap(({ tx_id }) => mempool.find(tx_id) ?? []);

  /** All that pass, in no order; null where nothing narrows. What waits for one account is few. */
  function narrowed(filter: PendingFilter): KeyRow[] | null {
    const ids = [filter.sender, filter.recipient, filter.principal].map((of) => (of === null ? null : idOf(of)));
    // A principal that the index never met has nothing waiting.
    if (ids.includes(undefined)) return [];
    const [sender, recipient, party] = ids;
    if (sender != null) return ofSender.all(sender, recipient ?? null);
    if (recipient != null) return ofRecipient.all(recipient);
    return party == null ? null : ofPrincipal.all(party);
  }

  return {
    async search(
      filter: PendingFilter,
      { by, direction }: PendingOrder,
      limit: number,
      offset: number,
    ): Promise<OffsetPage<PendingTransactionDetail>> {
      const rows = narrowed(filter);
      if (rows === null) {
        const page = pages.get(`${by}.${direction}`)?.all(limit, offset) ?? [];
        return { items: detailsOf(page), total: totalOf.get()?.total ?? 0 };
      }
      const sign = direction === 'asc' ? 1 : -1;
      rows.sort((a, b) => sign * (ascending[by](a, b) || Buffer.compare(a.tx_id, b.tx_id)));
      return { items: detailsOf(rows.slice(offset, offset + limit)), total: rows.length };
    },

    /** Fee and size of each transaction that waits. */
    feesAndSizes: async (): Promise<PendingFeeAndSize[]> =>
      feesAndSizes.all().map(({ type, fee, receipt_block_height, size }) => ({
        type: typeWord(type),
        fee: Number(decimalOf(fee)),
        receiptBlockHeight: receipt_block_height,
        size,
      })),
  };
}
