/** Transactions of the mempool, pending or dropped: look-ups, lists by type and filter, and their ranks by fee. */
import type { Database } from 'bun:sqlite';
import type { Cursor, OffsetPage, Page } from '../model/page.ts';
import type {
  FeeRank,
  OfferedFee,
  PendingConditions,
  PendingFeeAndSize,
  PendingFilter,
  PendingOrder,
  PendingTransaction,
  PendingTransactionDetail,
  PendingWalk,
} from '../model/transaction.ts';
import { MEMPOOL_STATE, mempoolStatus, typeName, typeNumbers } from '../rows/enums.ts';
import { decimalOf } from '../rows/formats.ts';
import { optional, query, type Stored, statements } from '../rows/statement.ts';
import { down, type KeyColumn, orderedList } from './list.ts';
import { NOBODY, numbers } from './numbers.ts';
import { readPage } from './page.ts';
import { declareSearch, declareWalk, searcher, walker } from './planner.ts';
import type { ItemsOf, RowTexts } from './row-texts.ts';
import { bitsOf, mined, numbersOf, payloadFilters, type SpentRow, spentOf, waiting } from './transactions/summary.ts';

/** The columns of {@link PendingRow}. */
const pendingColumns = `${waiting.columns}, m.state, m.received_at, m.receipt_block_height`;

/** The columns of {@link DetailRow}. */
const detailColumns = `${pendingColumns}, m.replaced_by_tx_id, m.raw`;

export const sql = {
  all: orderedList<ReceiptRow>(
    {
      select: 'SELECT received_at, tx_id, receipt_block_height FROM mempool_transactions',
      where: `state = ${MEMPOOL_STATE.pending}`,
    },
    [down('received_at'), down('tx_id', 'bytes')],
  ),
  ofPrincipal: orderedList<ReceiptRow>(
    {
      select: `SELECT p.received_at, p.tx_id, m.receipt_block_height
                 FROM pending_principals p CROSS JOIN mempool_transactions m ON m.tx_id = p.tx_id`,
      where: 'p.principal_id = ?1',
    },
    [down('p.received_at'), down('p.tx_id', 'bytes')],
  ),
  droppedOf: orderedList<DetailRow>(
    {
      select: `SELECT ${detailColumns} FROM mempool_transactions m ${waiting.joins}`,
      where: 'm.sender_id = ?1 AND m.state < 0',
    },
    [down('m.received_at'), down('m.tx_id', 'bytes')],
  ),
  total: query<{ total: number }>`SELECT mempool_pending AS total FROM progress`,
  version: query<{ version: number }>`SELECT mempool_version AS version FROM progress`,
  fees: query<Stored<'mempool_transactions', 'type' | 'fee'> & { transactions: number }>`
    SELECT type, fee, count(*) AS transactions FROM mempool_transactions
     WHERE state = ${MEMPOOL_STATE.pending} GROUP BY type, fee ORDER BY type, fee`,
  // In the order of the ids, which are a JSON array.
  each: query<PendingRow, [string]>`
    SELECT ${pendingColumns} FROM json_each(?1) k CROSS JOIN mempool_transactions m ON m.tx_id = unhex(k.value)
     ${waiting.joins}`,
  byId: query<DetailRow, [Uint8Array]>`
    SELECT ${detailColumns} FROM mempool_transactions m ${waiting.joins} WHERE m.tx_id = ?1`,
  mined: query<DetailRow, [Uint8Array]>`
    SELECT ${mined.columns}, ${MEMPOOL_STATE.pending} AS state, r.received_at, r.receipt_block_height,
           NULL AS replaced_by_tx_id, b.raw
      FROM transactions t JOIN mined_receipts r ON r.position = t.position
      JOIN transaction_bodies b ON b.position = t.position ${mined.joins} WHERE t.tx_id = ?1`,
  state: query<Stored<'mempool_transactions', 'state'>, [Uint8Array]>`
    SELECT state FROM mempool_transactions WHERE tx_id = ?1`,
  ofPrincipalTotal: query<Stored<'pending_counts', 'principal_id'> & { total: number }, [string]>`
    SELECT c.principal_id, c.transactions AS total
      FROM principals p JOIN pending_counts c ON c.principal_id = p.id WHERE p.address = ?1`,
  ofPrincipalAt: query<Stored<'pending_principals', 'tx_id'>, [number, number, number]>`
    SELECT tx_id FROM pending_principals WHERE principal_id = ?1
     ORDER BY received_at DESC, tx_id DESC LIMIT ?2 OFFSET ?3`,
};

type PendingRow = SpentRow & Stored<'mempool_transactions', 'state' | 'received_at' | 'receipt_block_height'>;

/** The identity of an announcement: a transaction that is received again has another receipt. */
type ReceiptRow = Stored<'mempool_transactions', 'received_at' | 'tx_id' | 'receipt_block_height'>;

interface DetailRow extends PendingRow {
  replaced_by_tx_id: Uint8Array | null;
  raw: Uint8Array;
}

const MICROSECONDS_PER_SECOND = 1_000_000;

/** The identity of an announcement's text. An announcement doesn't change while it is pending. */
const idOf = ({ tx_id: id, received_at: receivedAt, receipt_block_height: height }: ReceiptRow): string =>
  `${id.toHex()}/${receivedAt}/${height}`;

/** The model of a row. */
export const pendingOf = (row: PendingRow): PendingTransaction => ({
  ...spentOf(row),
  status: mempoolStatus(row.state),
  receiptTime: Math.round(row.received_at / MICROSECONDS_PER_SECOND),
  receiptBlockHeight: row.receipt_block_height,
});

/** Makes a function that returns the number of pending transactions. */
export function pendingCount(db: Database): () => number {
  const total = sql.total.prepared(db);
  return () => total.get()?.total ?? 0;
}

export type MempoolQueries = ReturnType<typeof mempoolQueries>;

/** @param texts caches texts of pending transactions */
export function mempoolQueries(db: Database, texts: RowTexts) {
  const read = statements(db, sql);
  const pendingTotal = pendingCount(db);
  const { principalOf } = numbers(db);

  const detailOf = (row: DetailRow): PendingTransactionDetail => ({
    ...pendingOf(row),
    replacedByTxId: row.replaced_by_tx_id,
    raw: row.raw,
  });

  function find(txId: Uint8Array): PendingTransactionDetail | undefined {
    return optional(read.byId.get(txId), detailOf);
  }

  const eachOf = (receipts: readonly ReceiptRow[]): PendingTransaction[] =>
    read.each.all(JSON.stringify(receipts.map(({ tx_id: id }) => id.toHex()))).map(pendingOf);
  const pageOf = <Item>(page: Page<ReceiptRow>, items: ItemsOf<PendingTransaction, Item>): Page<Item> => ({
    ...page,
    items: items(texts.rows(page.items, { idOf, heightOf: () => null, read: eachOf })),
  });

  return {
    page<Item>(limit: number, cursor: Cursor | null, items: ItemsOf<PendingTransaction, Item>): Page<Item> {
      const page = readPage({ limit, cursor, total: pendingTotal(), ...read.all([]), itemOf: (row) => row });
      return pageOf(page, items);
    },

    ofPrincipal<Item>(
      principal: string,
      limit: number,
      cursor: Cursor | null,
      items: ItemsOf<PendingTransaction, Item>,
    ): Page<Item> {
      const { principal_id: id, total } = read.ofPrincipalTotal.get(principal) ?? { principal_id: NOBODY, total: 0 };
      return pageOf(readPage({ limit, cursor, total, ...read.ofPrincipal([id]), itemOf: (row) => row }), items);
    },

    /** Dropped transactions of an origin, newest receipt first. */
    droppedOf(principal: string, limit: number, cursor: Cursor | null): Page<PendingTransactionDetail, null> {
      const id = principalOf(principal);
      return readPage({ limit, cursor, total: null, ...read.droppedOf([id]), itemOf: detailOf });
    },

    fees: (): OfferedFee[] =>
      read.fees
        .all()
        .map(({ type, fee, transactions }) => ({ type: typeName(type), fee: BigInt(decimalOf(fee)), transactions })),

    version: (): number => read.version.get()?.version ?? 0,

    find,

    /** An announced transaction: as it is in the mempool, or as it was there before it was mined. */
    findAnnounced: (txId: Uint8Array): PendingTransactionDetail | undefined =>
      optional(read.byId.get(txId) ?? read.mined.get(txId), detailOf),

    detailsOfPrincipal(principal: string, limit: number, offset: number): OffsetPage<PendingTransactionDetail> {
      const row = read.ofPrincipalTotal.get(principal);
      if (row === null || offset >= row.total) return { items: [], total: row?.total ?? 0 };
      const items = read.ofPrincipalAt.all(row.principal_id, limit, offset).flatMap(({ tx_id }) => find(tx_id) ?? []);
      return { items, total: row.total };
    },

    state: (txId: Uint8Array): number | undefined => read.state.get(txId)?.state,
  };
}

/** Maximum number of transactions with a higher fee that are counted, so that the cost of a response has a bound. */
const MAX_COUNTED = 10_000;

const higher = `SELECT 1 FROM mempool_transactions WHERE state = ${MEMPOOL_STATE.pending}`;

export const pendingRankSql = {
  pending: query<Stored<'mempool_transactions', 'type' | 'fee'>, [Uint8Array]>`
    SELECT type, fee FROM mempool_transactions WHERE tx_id = ?1 AND state = ${MEMPOOL_STATE.pending}`,
  // Fees are length-prefixed, so that their texts compare as numbers.
  ahead: query<{ n: number }, [string, number]>`SELECT count(*) AS n FROM (${higher} AND fee > ?1 LIMIT ?2)`,
  aheadOfType: query<{ n: number }, [string, number, number]>`
    SELECT count(*) AS n FROM (${higher} AND type = ?3 AND fee > ?1 LIMIT ?2)`,
};

/** @param maxCounted maximum number of transactions that are counted; tests use another than the default */
export function pendingRank(db: Database, maxCounted = MAX_COUNTED) {
  const { pending, ahead, aheadOfType } = statements(db, pendingRankSql);

  const rankAfter = (higherFees: number): number | null => (higherFees > maxCounted ? null : higherFees + 1);

  return {
    /** Rank of a pending transaction by fee; null if the transaction isn't pending. */
    feeRank(txId: Uint8Array): FeeRank | null {
      const row = pending.get(txId);
      if (row === null) return null;
      const ofType = typeNumbers(typeName(row.type)).map(
        (number) => aheadOfType.get(row.fee, maxCounted + 1, number)?.n ?? 0,
      );
      return {
        ofAll: rankAfter(ahead.get(row.fee, maxCounted + 1)?.n ?? 0),
        ofType: rankAfter(ofType.reduce((sum, n) => sum + n, 0)),
      };
    },
  };
}

type IdRow = Stored<'mempool_transactions', 'tx_id'>;

const payload = payloadFilters('m');
const pending = `m.state = ${MEMPOOL_STATE.pending}`;

/** The way to read the list in an order. Fees are length-prefixed, so that their texts compare as numbers. */
const inOrderOf = (column: KeyColumn) =>
  ({ by: [], from: 'mempool_transactions m', where: pending, key: [column, down('m.tx_id', 'bytes')] }) as const;
const walk = declareWalk({
  filters: payload,
  ways: { fee: inOrderOf(down('m.fee', 'text')), age: inOrderOf(down('m.received_at')) },
  key: [],
});

export const pendingMeetingWalkSql = walk.lists;
export const pendingMeetingSql = {
  byId: query<PendingRow, [Uint8Array]>`
    SELECT ${pendingColumns} FROM mempool_transactions m ${waiting.joins} WHERE m.tx_id = ?1`,
  countOfType: query<{ n: number }, [number]>`
    SELECT count(*) AS n FROM mempool_transactions WHERE state = ${MEMPOOL_STATE.pending} AND type = ?1`,
  oldest: query<Stored<'mempool_transactions', 'tx_id' | 'received_at'>>`
    SELECT tx_id, received_at FROM mempool_transactions
     WHERE state = ${MEMPOOL_STATE.pending} ORDER BY received_at, tx_id LIMIT 1`,
};

/** @param maxRows maximum number of rows that a page reads; tests use fewer than the default */
export function pendingMeeting(db: Database, maxRows?: number) {
  const { byId: itemAt, countOfType, oldest } = statements(db, pendingMeetingSql);
  const { principalOf } = numbers(db);
  const total = pendingCount(db);
  const pages = walker(db, walk, ({ tx_id }: IdRow) => pendingOf(itemAt.get(tx_id)!), maxRows);

  /** Number of transactions if types are the only condition; null if others would have to be counted. */
  function countMatches({ types, ...others }: PendingConditions): number | null {
    if (Object.values(others).some((condition) => condition !== null)) return null;
    if (types === null) return total();
    return [...new Set(types.flatMap(typeNumbers))].reduce((sum, type) => sum + (countOfType.get(type)?.n ?? 0), 0);
  }

  return {
    /**
     * Pending transactions that meet all conditions, the highest fee or the newest receipt first, ties by id. A page may be
     * short, or empty, and still have a next page.
     */
    meeting(
      conditions: PendingConditions,
      by: PendingWalk,
      limit: number,
      cursor: Cursor | null,
    ): Page<PendingTransaction, number | null> {
      const idOf = (address: string | null) => (address === null ? null : principalOf(address));
      const { types, sender, recipient, contract, ...others } = conditions;
      const principals = { sender: idOf(sender), recipient: idOf(recipient), contract: idOf(contract) };
      const isUnknown = Object.values(principals).includes(NOBODY);
      const values = { types: bitsOf(numbersOf(types)), ...principals, ...others };
      const sizedPaths = [{ way: by, size: isUnknown ? 0 : Number.POSITIVE_INFINITY }];
      return pages({ values, sizedPaths, total: countMatches(conditions) }, limit, cursor);
    },

    /** The transaction that is pending the longest, with its receipt in Unix seconds; null if none is pending. */
    oldest(): { txId: Uint8Array; receiptTime: number } | null {
      const row = oldest.get();
      return row === null
        ? null
        : { txId: row.tx_id, receiptTime: Math.round(row.received_at / MICROSECONDS_PER_SECOND) };
    },
  };
}

const waitingRows = { from: 'mempool_transactions m', where: pending };
const orderBy = (column: string) => ({ columns: [column, 'm.tx_id'], whole: waitingRows });
const waitingOf = 'pending_principals q CROSS JOIN mempool_transactions m ON m.tx_id = q.tx_id';
const search = declareSearch({
  filters: {
    sender: payload.sender,
    recipient: payload.recipient,
    principal: `EXISTS (SELECT 1 FROM pending_principals p
                 WHERE p.principal_id = :principal AND p.received_at = m.received_at AND p.tx_id = m.tx_id)`,
  },
  ways: {
    sender: {
      by: ['sender'],
      from: 'mempool_transactions m INDEXED BY mempool_pending_by_sender',
      where: `${pending} AND m.sender_id = :sender`,
    },
    // Skips the account's other transactions.
    recipient: { by: [], from: waitingOf, where: 'q.principal_id = :recipient' },
    principal: { by: ['principal'], from: waitingOf, where: 'q.principal_id = :principal' },
  },
  key: [down('m.tx_id', 'bytes')],
  noun: 'pending transactions',
  narrowFilter: 'a sender',
  ownOrder: null,
  orders: { age: orderBy('m.received_at'), size: orderBy('m.size'), fee: orderBy('m.fee') },
});

export const pendingSearchSql = search.sql;
export const pendingTotalsSql = {
  counted: query<Stored<'principals', 'id'> & { pending: number }, [string]>`
    SELECT p.id, coalesce(c.transactions, 0) AS pending FROM principals p
      LEFT JOIN pending_counts c ON c.principal_id = p.id WHERE p.address = ?1`,
  feesAndSizes: query<Stored<'mempool_transactions', 'type' | 'fee' | 'receipt_block_height' | 'size'>>`
    SELECT type, fee, receipt_block_height, size FROM mempool_transactions WHERE state = ${MEMPOOL_STATE.pending}`,
};

/** An account has few pending transactions, so that they are always sorted. */
const UNLIMITED = {
  sorted: Number.POSITIVE_INFINITY,
  rows: Number.POSITIVE_INFINITY,
  entries: Number.POSITIVE_INFINITY,
};

export function pendingSearch(db: Database, mempool: MempoolQueries) {
  const pages = searcher(db, search, ({ tx_id }: IdRow) => tx_id, UNLIMITED);
  const { counted, feesAndSizes } = statements(db, pendingTotalsSql);
  const total = pendingCount(db);

  function searchRows(filter: PendingFilter, order: PendingOrder, limit: number, offset: number) {
    const { by, direction } = order;
    const names = (['sender', 'recipient', 'principal'] as const).filter((name) => filter[name] !== null);
    if (names.length === 0) return { items: pages.all(by, direction, limit, offset), total: total() };
    const values: Record<keyof PendingFilter, number | null> = { sender: null, recipient: null, principal: null };
    const sizedPaths = names.map((way) => {
      const row = counted.get(filter[way] ?? '');
      values[way] = row?.id ?? null;
      // The count also includes transactions with the principal in another role.
      return { way, size: row?.pending ?? 0, isEstimate: true };
    });
    return pages.filtered({ values, sizedPaths }, by, direction, limit, offset);
  }

  return {
    search(
      filter: PendingFilter,
      order: PendingOrder,
      limit: number,
      offset: number,
    ): OffsetPage<PendingTransactionDetail> {
      const { items, total } = searchRows(filter, order, limit, offset);
      return { items: items.flatMap((txId) => mempool.find(txId) ?? []), total };
    },

    feesAndSizes: (): PendingFeeAndSize[] =>
      feesAndSizes
        .all()
        .map(({ type, fee, receipt_block_height, size }) => ({
          type: typeName(type),
          fee: Number(decimalOf(fee)),
          receiptBlockHeight: receipt_block_height,
          size,
        })),
  };
}
