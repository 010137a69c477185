/** Transactions of the mempool, pending or dropped: look-ups, lists by type and filter, and their ranks by fee. */
import type { Database, Statement } from 'bun:sqlite';
import { memoize } from '../../base/cache.ts';
import { type Cursor, HEAD, type OffsetPage, type Page } from '../model/page.ts';
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
import { decimalOf } from '../rows/amounts.ts';
import { MEMPOOL_STATE, mempoolStatus, PAYLOAD, typeName, typeNumbers } from '../rows/enums.ts';
import { prepared, type Stored } from '../rows/statement.ts';
import { bytesAt, filteredPage, keysetPage, MOST_FILTERED_ROWS, numberAt, textAt } from './page.ts';
import { mined, type SpentRow, spentOf, waiting } from './transactions/summary.ts';

/** The columns of {@link PendingRow}. */
const pendingColumns = `${waiting.columns}, m.state, m.received_at, m.receipt_block_height`;
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
type PendingRow = SpentRow & Stored<'mempool_transactions', 'state' | 'received_at' | 'receipt_block_height'>;

interface DetailRow extends PendingRow {
  replaced_by_tx_id: Uint8Array | null;
  raw: Uint8Array;
}

const MICROSECONDS = 1_000_000;

/** Bytes greater than every transaction id. */
const LAST_ID = new Uint8Array(33).fill(0xff);

/** The model of a row. */
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
  const fees = prepared<Stored<'mempool_transactions', 'type' | 'fee'> & { transactions: number }, []>(db, sql.fees);
  const from = prepared<PendingRow, [number, Uint8Array, number]>(db, sql.from);
  const before = prepared<PendingRow, [number, Uint8Array, number]>(db, sql.before);
  const byId = prepared<DetailRow, [Uint8Array]>(db, sql.byId);
  const minedById = prepared<DetailRow, [Uint8Array]>(db, sql.mined);
  const state = prepared<Stored<'mempool_transactions', 'state'>, [Uint8Array]>(db, sql.state);
  const ofPrincipalTotal = prepared<Stored<'pending_counts', 'principal_id'> & { total: number }, [string]>(
    db,
    sql.ofPrincipalTotal,
  );
  const ofPrincipalAt = prepared<Stored<'pending_principals', 'tx_id'>, [number, number, number]>(
    db,
    sql.ofPrincipalAt,
  );
  const ofPrincipalFrom = prepared<PendingRow, [number, Uint8Array, number, number]>(db, sql.ofPrincipalFrom);
  const ofPrincipalBefore = prepared<PendingRow, [number, Uint8Array, number, number]>(db, sql.ofPrincipalBefore);

  /** A list by receipt, newest first. The two functions find its rows by the two parts of a key. */
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
        type: typeName(type),
        fee: BigInt(decimalOf(fee)),
        transactions,
      })),

    version: async (): Promise<number> => version.get()?.version ?? 0,

    find,

    /** An announced transaction: as it is in the mempool, or as it was there before it was mined. */
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

/** Maximum of counted transactions with a higher fee, so that an answer's cost has a bound. */
const MOST_COUNTED = 10_000;

const higher = `SELECT 1 FROM mempool_transactions WHERE state = ${MEMPOOL_STATE.pending}`;

export const pendingRankSql = {
  pending: `SELECT type, fee FROM mempool_transactions WHERE tx_id = ?1 AND state = ${MEMPOOL_STATE.pending}`,
  // Fees are length-prefixed, so that their texts compare as numbers.
  ahead: `SELECT count(*) AS n FROM (${higher} AND fee > ?1 LIMIT ?2)`,
  aheadOfType: `SELECT count(*) AS n FROM (${higher} AND type = ?3 AND fee > ?1 LIMIT ?2)`,
};

/** @param most maximum of counted transactions; tests use another than the default */
export function pendingRank(db: Database, most = MOST_COUNTED) {
  const pending = prepared<Stored<'mempool_transactions', 'type' | 'fee'>, [Uint8Array]>(db, pendingRankSql.pending);
  const ahead = prepared<{ n: number }, [string, number]>(db, pendingRankSql.ahead);
  const aheadOfType = prepared<{ n: number }, [string, number, number]>(db, pendingRankSql.aheadOfType);

  const rankAfter = (higherFees: number): number | null => (higherFees > most ? null : higherFees + 1);

  return {
    /** Rank of a pending transaction by fee; null where the transaction isn't pending. */
    async feeRank(txId: Uint8Array): Promise<FeeRank | null> {
      const row = pending.get(txId);
      if (row === null) return null;
      const ofType = typeNumbers(typeName(row.type)).map(
        (number) => aheadOfType.get(row.fee, most + 1, number)?.n ?? 0,
      );
      return {
        ofAll: rankAfter(ahead.get(row.fee, most + 1)?.n ?? 0),
        ofType: rankAfter(ofType.reduce((sum, n) => sum + n, 0)),
      };
    },
  };
}

/** Conditions. ?1 has a bit for each payload type. */
const meetsConditions = `(?1 IS NULL OR (?1 >> m.type) & 1)
   AND (?2 IS NULL OR m.sender_id = ?2)
   AND (?3 IS NULL OR (m.type = ${PAYLOAD.token_transfer} AND m.recipient_id = ?3))
   AND (?4 IS NULL OR (m.type = ${PAYLOAD.contract_call} AND m.contract_id = ?4))
   AND (?5 IS NULL OR (m.type = ${PAYLOAD.contract_call} AND m.function_name = ?5))
   AND (?6 IS NULL OR (m.type = ${PAYLOAD.token_transfer} AND CAST(m.amount AS INTEGER) >= ?6))
   AND (?7 IS NULL OR (m.type = ${PAYLOAD.token_transfer} AND CAST(m.amount AS INTEGER) <= ?7))`;

/** The orders of the list: the column before the id. Fees are length-prefixed, so that their texts compare as numbers. */
const ordered = { fee: 'm.fee', age: 'm.received_at' } as const;

const walkBy = (column: string, compare: '<=' | '>=', down: '' | ' DESC'): string =>
  `SELECT m.tx_id, ${column} AS key, ${meetsConditions} AS matches FROM mempool_transactions m
    WHERE m.state = ${MEMPOOL_STATE.pending} AND (${column}, m.tx_id) ${compare} (?8, ?9)
    ORDER BY ${column}${down}, m.tx_id${down}`;

const walks: Readonly<Record<string, string>> = {
  'fee.down': walkBy(ordered.fee, '<=', ' DESC'),
  'fee.up': walkBy(ordered.fee, '>=', ''),
  'age.down': walkBy(ordered.age, '<=', ' DESC'),
  'age.up': walkBy(ordered.age, '>=', ''),
};

export const pendingMeetingSql = {
  ...walks,
  at: `${pending} WHERE m.tx_id = ?1`,
  countOfType: `SELECT count(*) AS n FROM mempool_transactions WHERE state = ${MEMPOOL_STATE.pending} AND type = ?1`,
  principal: 'SELECT id FROM principals WHERE address = ?1',
  oldest: `SELECT tx_id, received_at FROM mempool_transactions
            WHERE state = ${MEMPOOL_STATE.pending} ORDER BY received_at, tx_id LIMIT 1`,
};

interface KeyedRow extends Stored<'mempool_transactions', 'tx_id'> {
  key: string | number;
  matches: 0 | 1;
}

/** Greater than every fee and time. */
const HIGHEST = { fee: '~', age: Number.MAX_SAFE_INTEGER } as const;

/** @param mostRows tests of the bound use fewer than the default */
export function pendingMeeting(db: Database, mostRows = MOST_FILTERED_ROWS) {
  const itemAt = prepared<PendingRow, [Uint8Array]>(db, pendingMeetingSql.at);
  const countOfType = prepared<{ n: number }, [number]>(db, pendingMeetingSql.countOfType);
  const total = prepared<{ total: number }, []>(db, sql.total);
  const principalOf = prepared<Stored<'principals', 'id'>, [string]>(db, pendingMeetingSql.principal);
  const oldest = prepared<Stored<'mempool_transactions', 'tx_id' | 'received_at'>, []>(db, pendingMeetingSql.oldest);
  const statement = memoize(
    (name): Statement<KeyedRow, (number | bigint | string | Uint8Array | null)[]> => prepared(db, walks[name]!),
  );

  /** Number of transactions where types are the only condition; null where others would have to be counted. */
  function totalOf({ types, ...others }: PendingConditions): number | null {
    if (Object.values(others).some((one) => one !== null)) return null;
    if (types === null) return total.get()?.total ?? 0;
    return [...new Set(types.flatMap(typeNumbers))].reduce((sum, type) => sum + (countOfType.get(type)?.n ?? 0), 0);
  }

  return {
    /**
     * Pending transactions that meet all conditions, the highest fee or the newest receipt first, equal ones by id. A page may be
     * short, or empty, and have a next one.
     */
    async meeting(
      of: PendingConditions,
      by: PendingWalk,
      limit: number,
      at: Cursor | null,
    ): Promise<Page<PendingTransaction, number | null>> {
      const found = [of.sender, of.recipient, of.contract].map((address) =>
        address === null ? undefined : principalOf.get(address),
      );
      if (found.includes(null)) return { items: [], total: null, current: at ?? HEAD, next: null, previous: null };
      const [sender, recipient, contract] = found;
      const values = [
        of.types === null ? null : of.types.flatMap(typeNumbers).reduce((bits, type) => bits | (1 << type), 0),
        ...[sender?.id ?? null, recipient?.id ?? null, contract?.id ?? null],
        ...[of.functionName, of.leastAmount, of.greatestAmount],
      ];
      return filteredPage<KeyedRow, PendingTransaction>({
        limit,
        at,
        total: totalOf(of),
        mostRows,
        rows(key, isBackwards) {
          const from = key === null ? HIGHEST[by] : by === 'fee' ? textAt(key, 0) : numberAt(key, 0);
          const id = key === null ? LAST_ID : bytesAt(key, 1);
          return statement(`${by}.${isBackwards ? 'up' : 'down'}`).iterate(...values, from, id);
        },
        meets: ({ matches }) => matches === 1,
        keyOf: ({ key, tx_id }) => [key, tx_id.toHex()],
        itemOf: ({ tx_id }) => pendingOf(itemAt.get(tx_id)!),
      });
    },

    /** The transaction that is pending the longest, with its receipt in Unix seconds; null where none is pending. */
    async oldest(): Promise<{ txId: Uint8Array; receiptTime: number } | null> {
      const row = oldest.get();
      return row === null ? null : { txId: row.tx_id, receiptTime: Math.round(row.received_at / MICROSECONDS) };
    },
  };
}

const searchColumns = 'm.tx_id, m.received_at, m.fee, m.size';
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

export const pendingSearchSql = {
  ...lists,
  total: 'SELECT mempool_pending AS total FROM progress',
  principal: 'SELECT id FROM principals WHERE address = ?1',
  ofSender: `SELECT ${searchColumns} FROM mempool_transactions m WHERE m.state = ${MEMPOOL_STATE.pending} AND m.sender_id = ?1
              AND (?2 IS NULL OR (m.recipient_id = ?2 AND m.type = ${PAYLOAD.token_transfer}))`,
  ofRecipient: `SELECT ${searchColumns} FROM mempool_transactions m WHERE m.state = ${MEMPOOL_STATE.pending} AND m.recipient_id = ?1 AND m.type = ${PAYLOAD.token_transfer}`,
  ofPrincipal: `SELECT ${searchColumns} FROM pending_principals p JOIN mempool_transactions m ON m.tx_id = p.tx_id
                 WHERE p.principal_id = ?1`,
  feesAndSizes: `SELECT type, fee, receipt_block_height, size FROM mempool_transactions WHERE state = ${MEMPOOL_STATE.pending}`,
};

type KeyRow = Stored<'mempool_transactions', 'tx_id' | 'received_at' | 'fee' | 'size'>;

const ascending: Readonly<Record<PendingOrder['by'], (a: KeyRow, b: KeyRow) => number>> = {
  age: (a, b) => a.received_at - b.received_at,
  size: (a, b) => a.size - b.size,
  fee: (a, b) => (a.fee < b.fee ? -1 : a.fee > b.fee ? 1 : 0),
};

export function pendingSearch(db: Database, mempool: MempoolQueries) {
  const pages = new Map(
    Object.entries(lists).map(([name, text]) => [
      name,
      prepared<Stored<'mempool_transactions', 'tx_id'>, [number, number]>(db, text),
    ]),
  );
  const totalOf = prepared<{ total: number }, []>(db, pendingSearchSql.total);
  const principal = prepared<Stored<'principals', 'id'>, [string]>(db, pendingSearchSql.principal);
  const ofSender = prepared<KeyRow, [number, number | null]>(db, pendingSearchSql.ofSender);
  const ofRecipient = prepared<KeyRow, [number]>(db, pendingSearchSql.ofRecipient);
  const ofPrincipal = prepared<KeyRow, [number]>(db, pendingSearchSql.ofPrincipal);
  const feesAndSizes = prepared<Stored<'mempool_transactions', 'type' | 'fee' | 'receipt_block_height' | 'size'>, []>(
    db,
    pendingSearchSql.feesAndSizes,
  );

  const idOf = (address: string): number | undefined => principal.get(address)?.id;
  const detailsOf = (rows: readonly { tx_id: Uint8Array }[]): PendingTransactionDetail[] =>
    rows.flatMap(({ tx_id }) => mempool.find(tx_id) ?? []);

  /** All rows that match, unordered; null where no principal narrows the list. An account has few pending transactions. */
  function narrowed(filter: PendingFilter): KeyRow[] | null {
    const ids = [filter.sender, filter.recipient, filter.principal].map((of) => (of === null ? null : idOf(of)));
    // A principal that isn't in the index has no pending transactions.
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

    /** Fee and size of each pending transaction. */
    feesAndSizes: async (): Promise<PendingFeeAndSize[]> =>
      feesAndSizes.all().map(({ type, fee, receipt_block_height, size }) => ({
        type: typeName(type),
        fee: Number(decimalOf(fee)),
        receiptBlockHeight: receipt_block_height,
        size,
      })),
  };
}
