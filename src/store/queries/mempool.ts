/** Transactions of the mempool, pending or dropped: look-ups, lists by type and filter, and their ranks by fee. */
import type { Database } from 'bun:sqlite';
import type { Turns } from '../../base/turns.ts';
import {
  type Candidate,
  feeForFirstBlock,
  MAX_CHAINED,
  type Projection,
  projectionOf,
} from '../../chain/projection.ts';
import type { Cursor, OffsetPage, Page } from '../model/page.ts';
import type {
  FeeRank,
  MempoolProjection,
  OfferedFee,
  PendingAwaits,
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
import { optional, query, type Stored, statements } from '../rows/statement.ts';
import { lockQuery } from './accounts/locks.ts';
import { type StartingAccount, startingAccountQuery } from './accounts/starting-accounts.ts';
import type { ChainQueries } from './blocks/chain.ts';
import { LAST_HEIGHT } from './blocks/windows.ts';
import { down, type KeyColumn, ordered } from './list.ts';
import { NOBODY, numbers } from './numbers.ts';
import { readPage } from './page.ts';
import { searcher, searchOf, walker, walkOf } from './planner.ts';
import type { ItemsOf, RowTexts } from './row-texts.ts';
import { bitsOf, mined, numbersOf, payloadFilters, type SpentRow, spentOf, waiting } from './transactions/summary.ts';

/** The columns of {@link PendingRow}. */
const pendingColumns = `${waiting.columns}, m.state, m.received_at, m.receipt_block_height`;

/** The columns of {@link DetailRow}. */
const detailColumns = `${pendingColumns}, m.replaced_by_tx_id, m.raw`;

export const sql = {
  all: ordered<ReceiptRow>(
    {
      select: 'SELECT received_at, tx_id, receipt_block_height FROM mempool_transactions',
      where: `state = ${MEMPOOL_STATE.pending}`,
    },
    [down('received_at'), down('tx_id', 'bytes')],
  ),
  ofPrincipal: ordered<ReceiptRow>(
    {
      select: `SELECT p.received_at, p.tx_id, m.receipt_block_height
                 FROM pending_principals p CROSS JOIN mempool_transactions m ON m.tx_id = p.tx_id`,
      where: 'p.principal_id = ?1',
    },
    [down('p.received_at'), down('p.tx_id', 'bytes')],
  ),
  droppedOf: ordered<DetailRow>(
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

/** A pending transaction as stored in its table. */
type PendingRow = SpentRow & Stored<'mempool_transactions', 'state' | 'received_at' | 'receipt_block_height'>;

/** The identity of an announcement: a transaction that is received again has another receipt. */
type ReceiptRow = Stored<'mempool_transactions', 'received_at' | 'tx_id' | 'receipt_block_height'>;

interface DetailRow extends PendingRow {
  replaced_by_tx_id: Uint8Array | null;
  raw: Uint8Array;
}

const MICROSECONDS = 1_000_000;

/** Greater than every fee. */
const HIGHEST_FEE = '~';
/** Bytes greater than every transaction id. */
const LAST_ID = new Uint8Array(33).fill(0xff);

/** The identity of an announcement's text. An announcement doesn't change while it is pending. */
const idOf = ({ tx_id: id, received_at: receivedAt, receipt_block_height: height }: ReceiptRow): string =>
  `${id.toHex()}/${receivedAt}/${height}`;

/** The model of a row. */
const pendingOf = (row: PendingRow): PendingTransaction => ({
  ...spentOf(row),
  status: mempoolStatus(row.state),
  receiptTime: Math.round(row.received_at / MICROSECONDS),
  receiptBlockHeight: row.receipt_block_height,
});

/** Makes a function that returns the number of pending transactions. */
function pendingCount(db: Database): () => number {
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
  /** A page of pending transactions from the page of their receipts. */
  const listed = <Item>(page: Page<ReceiptRow>, items: ItemsOf<PendingTransaction, Item>): Page<Item> => ({
    ...page,
    items: items(texts.rows(page.items, { idOf, heightOf: () => null, read: eachOf })),
  });

  return {
    page<Item>(limit: number, at: Cursor | null, items: ItemsOf<PendingTransaction, Item>): Page<Item> {
      const page = readPage({ limit, at, total: pendingTotal(), ...read.all([]), itemOf: (row) => row });
      return listed(page, items);
    },

    ofPrincipal<Item>(
      principal: string,
      limit: number,
      at: Cursor | null,
      items: ItemsOf<PendingTransaction, Item>,
    ): Page<Item> {
      const { principal_id: id, total } = read.ofPrincipalTotal.get(principal) ?? { principal_id: NOBODY, total: 0 };
      return listed(readPage({ limit, at, total, ...read.ofPrincipal([id]), itemOf: (row) => row }), items);
    },

    /** Dropped transactions of an origin, newest receipt first. */
    droppedOf(principal: string, limit: number, at: Cursor | null): Page<PendingTransactionDetail, null> {
      const id = principalOf(principal);
      return readPage({ limit, at, total: null, ...read.droppedOf([id]), itemOf: detailOf });
    },

    fees: (): OfferedFee[] =>
      read.fees.all().map(({ type, fee, transactions }) => ({
        type: typeName(type),
        fee: BigInt(decimalOf(fee)),
        transactions,
      })),

    version: (): number => read.version.get()?.version ?? 0,

    find,

    /** An announced transaction: as it is in the mempool, or as it was there before it was mined. */
    findAnnounced: (txId: Uint8Array): PendingTransactionDetail | undefined =>
      optional(read.byId.get(txId) ?? read.mined.get(txId), detailOf),

    detailsOfPrincipal(principal: string, limit: number, offset: number): OffsetPage<PendingTransactionDetail> {
      const counted = read.ofPrincipalTotal.get(principal);
      if (counted === null || offset >= counted.total) return { items: [], total: counted?.total ?? 0 };
      const items = read.ofPrincipalAt
        .all(counted.principal_id, limit, offset)
        .flatMap(({ tx_id }) => find(tx_id) ?? []);
      return { items, total: counted.total };
    },

    state: (txId: Uint8Array): number | undefined => read.state.get(txId)?.state,
  };
}

/** Maximum of counted transactions with a higher fee, so that an answer's cost has a bound. */
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

/** @param maxCounted maximum of counted transactions; tests use another than the default */
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

const payload = payloadFilters('m');
const pending = `m.state = ${MEMPOOL_STATE.pending}`;

/** The way to read the list in an order. Fees are length-prefixed, so that their texts compare as numbers. */
const inOrderOf = (column: KeyColumn) =>
  ({ by: [], from: 'mempool_transactions m', where: pending, key: [column, down('m.tx_id', 'bytes')] }) as const;
const walk = walkOf({
  filters: payload,
  ways: { fee: inOrderOf(down('m.fee', 'text')), age: inOrderOf(down('m.received_at')) },
  key: [],
});

export const pendingMeetingWalkSql = walk.lists;
export const pendingMeetingSql = {
  at: query<PendingRow, [Uint8Array]>`
    SELECT ${pendingColumns} FROM mempool_transactions m ${waiting.joins} WHERE m.tx_id = ?1`,
  countOfType: query<{ n: number }, [number]>`
    SELECT count(*) AS n FROM mempool_transactions WHERE state = ${MEMPOOL_STATE.pending} AND type = ?1`,
  oldest: query<Stored<'mempool_transactions', 'tx_id' | 'received_at'>>`
    SELECT tx_id, received_at FROM mempool_transactions
     WHERE state = ${MEMPOOL_STATE.pending} ORDER BY received_at, tx_id LIMIT 1`,
};

/** @param mostRows tests of the bound use fewer than the default */
export function pendingMeeting(db: Database, mostRows?: number) {
  const { at: itemAt, countOfType, oldest } = statements(db, pendingMeetingSql);
  const { principalOf } = numbers(db);
  const total = pendingCount(db);
  const pages = walker<Stored<'mempool_transactions', 'tx_id'>, keyof typeof payload, PendingWalk>(db, walk, mostRows);

  /** Number of transactions if types are the only condition; null if others would have to be counted. */
  function totalOf({ types, ...others }: PendingConditions): number | null {
    if (Object.values(others).some((one) => one !== null)) return null;
    if (types === null) return total();
    return [...new Set(types.flatMap(typeNumbers))].reduce((sum, type) => sum + (countOfType.get(type)?.n ?? 0), 0);
  }

  return {
    /**
     * Pending transactions that meet all conditions, the highest fee or the newest receipt first, equal ones by id. A page may be
     * short, or empty, and have a next one.
     */
    meeting(
      of: PendingConditions,
      by: PendingWalk,
      limit: number,
      at: Cursor | null,
    ): Page<PendingTransaction, number | null> {
      const idOf = (address: string | null) => (address === null ? null : principalOf(address));
      const principals = { sender: idOf(of.sender), recipient: idOf(of.recipient), contract: idOf(of.contract) };
      const isUnknown = Object.values(principals).includes(NOBODY);
      const values = {
        types: bitsOf(numbersOf(of.types)),
        functionName: of.functionName,
        ...principals,
        leastAmount: of.leastAmount,
        greatestAmount: of.greatestAmount,
      };
      const sizes = [{ way: by, size: isUnknown ? 0 : Number.POSITIVE_INFINITY }];
      return pages({ values, found: sizes, total: totalOf(of) }, limit, at, ({ tx_id }) =>
        pendingOf(itemAt.get(tx_id)!),
      );
    },

    /** The transaction that is pending the longest, with its receipt in Unix seconds; null if none is pending. */
    oldest(): { txId: Uint8Array; receiptTime: number } | null {
      const row = oldest.get();
      return row === null ? null : { txId: row.tx_id, receiptTime: Math.round(row.received_at / MICROSECONDS) };
    },
  };
}

/** Maximum number of transactions in a projection, highest fees first; and of those with earlier nonces that are also read. */
const MAX_PROJECTED = 20_000;
/** Reads at most this many times as many transactions, since one account may have many with nonces that don't fit yet. */
const READ_FACTOR = 5;
/** Maximum number of functions with calls to read for a projection. */
const MAX_FUNCTIONS = 1_000;
/** Calls of a function that its cost is estimated from, the newest. */
const CALLS_OF_FUNCTION = 5;
/** Rows that are read between two looks at the time. */
const BATCH = 50;

const candidateColumns = `m.tx_id, m.received_at, m.fee, m.size, m.type, m.sender_id, m.nonce, m.sponsor_id, m.sponsor_nonce,
                          m.contract_id, m.function_name, m.amount`;
const candidates = `SELECT ${candidateColumns} FROM mempool_transactions m WHERE m.state = ${MEMPOOL_STATE.pending}`;

export const projectionSql = {
  byFee: query<CandidateRow, [string, Uint8Array, number]>`
    ${candidates} AND (m.fee, m.tx_id) < (?1, ?2) ORDER BY m.fee DESC, m.tx_id DESC LIMIT ?3`,
  byId: query<CandidateRow, [Uint8Array]>`${candidates} AND m.tx_id = ?1`,
  ofSender: query<CandidateRow, [number, number, number, number]>`
    ${candidates} AND m.sender_id = ?1 AND m.nonce >= ?2 AND m.nonce < ?3 ORDER BY m.nonce LIMIT ?4`,
  ofSponsor: query<CandidateRow, [number, number, number, number]>`
    ${candidates} AND m.sponsor_id = ?1 AND m.sponsor_nonce >= ?2 AND m.sponsor_nonce < ?3
     ORDER BY m.sponsor_nonce LIMIT ?4`,
  account: query<{ last: number; balance: string | null; locks: number }, [number]>`
    SELECT max(coalesce((SELECT max(nonce) FROM transactions WHERE sender_id = ?1 AND nonce IS NOT NULL), -1),
               coalesce((SELECT max(sponsor_nonce) FROM transactions WHERE sponsor_id = ?1), -1)) AS last,
           (SELECT balance FROM accounts WHERE principal_id = ?1) AS balance,
           EXISTS (SELECT 1 FROM stx_locks WHERE principal_id = ?1) AS locks`,
  // The status comes after the limit, so that no more calls are read if many were skipped.
  cost: query<Record<(typeof COST_NAMES)[number], number | null>, [number, string, number]>`
    SELECT avg(b.cost_runtime) AS runtime, avg(b.cost_read_count) AS read_count, avg(b.cost_read_length) AS read_length,
           avg(b.cost_write_count) AS write_count, avg(b.cost_write_length) AS write_length
      FROM (SELECT t.position, t.status FROM transactions t
             WHERE t.contract_id = ?1 AND t.function_name = ?2 AND t.type = ${PAYLOAD.contract_call}
             ORDER BY t.position DESC LIMIT ?3) c
      JOIN transaction_bodies b ON b.position = c.position WHERE c.status >= -2`,
};

/** The dimensions of a cost, in the order of TENURE_BUDGET. */
const COST_NAMES = ['runtime', 'read_count', 'read_length', 'write_count', 'write_length'] as const;

type CandidateRow = Stored<
  'mempool_transactions',
  | 'tx_id'
  | 'received_at'
  | 'fee'
  | 'size'
  | 'type'
  | 'sender_id'
  | 'nonce'
  | 'sponsor_id'
  | 'sponsor_nonce'
  | 'contract_id'
  | 'function_name'
  | 'amount'
>;

/** The values of an account that a projection needs. */
interface AccountAtTip {
  /** Null if it is unknown: the index starts at a block, and the node hasn't sent the account's state. */
  nextNonce: number | null;
  /** micro-STX that are not locked; null if it is unknown. */
  available: bigint | null;
}

/** An account of the whole chain before the first block. */
const NO_ACCOUNT: StartingAccount = { balance: 0n, locked: 0n, unlockHeight: 0, nonce: 0n };

/** The highest nonce of each account that some candidates spend, and all that they spend. */
function spentBy(candidates: Iterable<Candidate>) {
  const highest = new Map<number, number>();
  const spent = new Set<string>();
  for (const { spends } of candidates) {
    for (const { account, nonce } of spends) {
      highest.set(account, Math.max(highest.get(account) ?? 0, nonce));
      spent.add(`${account} ${nonce}`);
    }
  }
  return { highest, isSpent: (account: number, nonce: number): boolean => spent.has(`${account} ${nonce}`) };
}

/** Whether a nonce is one that a miner may come to soon: no number that is not exact, and none that is far above the next. */
const isNear = (nonce: number, next: number | null): boolean =>
  Number.isSafeInteger(nonce) && (next === null || (nonce >= next && nonce < next + MAX_CHAINED));

/** The projection of the mempool, as it is kept. */
interface CachedProjection extends Projection, Omit<MempoolProjection, 'blocks' | 'places'> {}

export type SharedProjection = ReturnType<typeof sharedProjection>;

/**
 * The last projection, which all connections of a thread to one file share: requests for one state of the mempool wait for one
 * that makes it, however many they are.
 */
export function sharedProjection() {
  let last: { key: string; made: Promise<CachedProjection> } | null = null;
  return {
    /** @param key of the state of the mempool and the tip @param make makes the projection if there is none of the state */
    async of(key: string, make: () => Promise<CachedProjection>): Promise<CachedProjection> {
      while (last?.key === key) {
        const shared = last;
        try {
          return await shared.made;
        } catch {
          // The request that made the projection reports the error, such as a cut-off snapshot. This request makes a new one.
          if (last === shared) last = null;
        }
      }
      last = { key, made: make() };
      return last.made;
    },
  };
}

/**
 * The projection of the mempool. It reads a bounded number of rows: the transactions with the highest fees, those that their
 * accounts must send before, and one row of each account and of some calls of each function that is called.
 * @param shared the last projection of the file
 * @param mostRows tests of the bound use fewer than the default
 */
export function mempoolProjection(
  db: Database,
  chain: Pick<ChainQueries, 'tip' | 'historyStart'>,
  turns: Turns,
  shared: SharedProjection,
  mostRows = MAX_PROJECTED,
) {
  const { byFee, byId, ofSender, ofSponsor, account: accountOf, cost } = statements(db, projectionSql);
  const { addressOf } = numbers(db);
  const followed = [ofSender, ofSponsor];
  const total = pendingCount(db);
  const version = sql.version.prepared(db);
  const itemAt = pendingMeetingSql.at.prepared(db);
  const locked = lockQuery(db);
  const startingAccount = startingAccountQuery(db);

  /** Reads accounts, each once. */
  function accountsAtTip(): (account: number) => AccountAtTip {
    const isWhole = chain.historyStart() === null;
    const accounts = new Map<number, AccountAtTip>();
    const read = (account: number): AccountAtTip => {
      const { last, balance, locks } = accountOf.get(account)!;
      const afterLast = last < 0 ? null : last + 1;
      const before = isWhole ? NO_ACCOUNT : startingAccount(account);
      if (before === null) return { nextNonce: afterLast, available: null };
      const nextNonce = afterLast ?? Number(before.nonce);
      const owned = before.balance + (balance === null ? 0n : BigInt(decimalOf(balance)));
      // In a partial recording, balances may be negative. The account's real balance is unknown then.
      if (owned < 0n) return { nextNonce, available: null };
      const mayLock = locks === 1 || before.locked > 0n;
      const lock = mayLock ? locked(account, LAST_HEIGHT) : null;
      return { nextNonce, available: owned - (lock?.amount ?? 0n) };
    };
    return (account) => {
      const state = accounts.get(account) ?? read(account);
      accounts.set(account, state);
      return state;
    };
  }

  /** Estimates the costs of calls: the mean of some earlier calls of their function, read once, of a bounded number of functions. */
  function costEstimates(): (row: CandidateRow) => number[] | null {
    const means = new Map<string, number[] | null>();
    return ({ type, contract_id, function_name }) => {
      if (type !== PAYLOAD.contract_call || contract_id === null || function_name === null) return null;
      const key = `${contract_id} ${function_name}`;
      const cached = means.get(key);
      if (cached !== undefined || means.size >= MAX_FUNCTIONS) return cached ?? null;
      const row = cost.get(contract_id, function_name, CALLS_OF_FUNCTION);
      const mean = row === null || row.runtime === null ? null : COST_NAMES.map((name) => row[name] ?? 0);
      means.set(key, mean);
      return mean;
    };
  }

  const spendsOf = ({ sender_id, nonce, sponsor_id, sponsor_nonce }: CandidateRow): Candidate['spends'] => [
    { account: sender_id, nonce },
    ...(sponsor_id === null || sponsor_nonce === null || sponsor_id === sender_id
      ? []
      : [{ account: sponsor_id, nonce: sponsor_nonce }]),
  ];

  /** The amount that an account is short of to pay its part of a transaction; null if it can pay. */
  function lackOf(row: CandidateRow, accounts: (account: number) => AccountAtTip) {
    const fee = BigInt(decimalOf(row.fee));
    const amount = row.type === PAYLOAD.token_transfer ? BigInt(row.amount ?? 0) : 0n;
    const payer = row.sponsor_id ?? row.sender_id;
    const needs =
      payer === row.sender_id
        ? [[payer, fee + amount] as const]
        : [[payer, fee] as const, [row.sender_id, amount] as const];
    for (const [account, needed] of needs) {
      const { available } = accounts(account);
      if (available !== null && needed > available && needed > 0n) return { account, needed, available };
    }
    return null;
  }

  const candidateOf = (row: CandidateRow, estimateOf: ReturnType<typeof costEstimates>): Candidate => ({
    txId: row.tx_id,
    fee: Number(decimalOf(row.fee)),
    uses: [...(estimateOf(row) ?? COST_NAMES.map(() => 0)), row.size],
    receivedAt: row.received_at,
    spends: spendsOf(row),
  });

  /** The projection at the snapshot's tip. */
  const project = (): Promise<CachedProjection> =>
    shared.of(`${chain.tip()?.indexBlockHash.toHex()} ${version.get()?.version}`, make);

  async function make(): Promise<CachedProjection> {
    const pause = turns.longWork();
    const accounts = accountsAtTip();
    const estimateOf = costEstimates();
    const found = new Map<string, Candidate>();
    const counts = { read: 0, byBalance: 0, estimated: 0 };

    function take(row: CandidateRow): void {
      counts.read += 1;
      if (spendsOf(row).some(({ account, nonce }) => !isNear(nonce, accounts(account).nextNonce))) return;
      if (lackOf(row, accounts) !== null) {
        counts.byBalance += 1;
        return;
      }
      if (estimateOf(row) !== null) counts.estimated += 1;
      found.set(row.tx_id.toHex(), candidateOf(row, estimateOf));
    }

    let isCut = false;
    let [fee, id]: [string, Uint8Array] = [HIGHEST_FEE, LAST_ID];
    for (;;) {
      const rows = byFee.all(fee, id, BATCH);
      for (const row of rows) take(row);
      const end = rows.at(-1);
      if (end === undefined) break;
      [fee, id] = [end.fee, end.tx_id];
      if (found.size >= mostRows || counts.read >= READ_FACTOR * mostRows) {
        isCut = true;
        break;
      }
      await pause();
    }
    // If not all were read, some with earlier nonces may be missing, because they offer lower fees.
    if (isCut) await takeThoseBefore(found, accounts, take, pause);
    const projection = await projectionOf([...found.values()], (account) => accounts(account).nextNonce, pause);
    return {
      ...projection,
      total: total(),
      considered: counts.read,
      withoutBalance: counts.byBalance,
      withoutNonce: counts.read - counts.byBalance - projection.places.size,
      estimated: counts.estimated,
    };
  }

  /** Takes the transactions that must come before others, up to as many as there are at most. */
  async function takeThoseBefore(
    found: ReadonlyMap<string, Candidate>,
    accounts: (account: number) => AccountAtTip,
    take: (row: CandidateRow) => void,
    pause: () => Promise<void> | undefined,
  ): Promise<void> {
    const { highest, isSpent } = spentBy(found.values());
    let remaining = mostRows;
    for (const [account, last] of highest) {
      let nonce = accounts(account).nextNonce ?? last;
      while (nonce < last && isSpent(account, nonce)) nonce += 1;
      if (nonce >= last) continue;
      for (const statement of followed) {
        const rows = statement.all(account, nonce, last, Math.min(MAX_CHAINED, remaining));
        remaining -= rows.length;
        for (const row of rows) if (!found.has(row.tx_id.toHex())) take(row);
      }
      if (remaining <= 0) return;
      await pause();
    }
  }

  /**
   * The first nonce, before a transaction's nonce, that no projected block spends; the next one if all are
   * in blocks and are as many as a node accepts; null if all are, and are fewer.
   */
  function awaitedBefore(
    { account, nonce }: Candidate['spends'][number],
    next: number,
    places: CachedProjection['places'],
  ): PendingAwaits | null {
    const spenders = (of: number): CandidateRow[] =>
      followed.flatMap((statement) => statement.all(account, of, of + 1, 1));
    const awaited = (of: number): PendingAwaits => ({
      for: 'nonce',
      principal: addressOf(account),
      nonce: of,
      txId: spenders(of)[0]?.tx_id ?? null,
    });
    for (let before = next; before < Math.min(nonce, next + MAX_CHAINED); before++) {
      if (!spenders(before).some(({ tx_id }) => places.has(tx_id.toHex()))) return awaited(before);
    }
    return nonce < next + MAX_CHAINED ? null : awaited(next);
  }

  return {
    /** The projected blocks, and the number of transactions that they were made from. Takes several turns. */
    projection: async (): Promise<MempoolProjection> => project(),

    /** The position of a pending transaction in the projection; null if it isn't pending. */
    async projected(txId: Uint8Array) {
      const { blocks, places, nextNonces } = await project();
      const row = byId.get(txId);
      if (row === null) return null;
      const accounts = accountsAtTip();
      const nextNonce = (account: number): number => nextNonces.get(account) ?? accounts(account).nextNonce ?? 0;
      const place = places.get(txId.toHex()) ?? null;
      const lack = lackOf(row, accounts);
      const awaits = spendsOf(row).flatMap((spent) => awaitedBefore(spent, nextNonce(spent.account), places) ?? []);
      if (lack !== null) {
        const { account, needed, available } = lack;
        awaits.push({ for: 'balance', principal: addressOf(account), needed, available });
      }
      // In a block it has the estimate that the block was filled by.
      const placed = place === null ? undefined : blocks[place.block - 1]?.transactions[place.place - 1];
      const own = placed ?? candidateOf(row, costEstimates());
      return { place, awaits, fee: awaits.length > 0 ? null : feeForFirstBlock(own, blocks, nextNonce) };
    },

    /** The first transactions of a projected block, in their order; none if there is no such block. @param block from 1 */
    async inProjectedBlock(block: number, limit: number): Promise<OffsetPage<PendingTransaction>> {
      const { transactions = [] } = (await project()).blocks[block - 1] ?? {};
      const items = transactions.slice(0, limit).map(({ txId }) => pendingOf(itemAt.get(txId)!));
      return { items, total: transactions.length };
    },
  };
}

const waitingRows = { from: 'mempool_transactions m', where: pending };
const [byAge, bySize, byFee] = ['m.received_at', 'm.size', 'm.fee'].map((column) => [column, 'm.tx_id']) as [
  string[],
  string[],
  string[],
];
const waitingOf = 'pending_principals q CROSS JOIN mempool_transactions m ON m.tx_id = q.tx_id';
const search = searchOf({
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
    // The other transactions of the account are passed over.
    recipient: { by: [], from: waitingOf, where: 'q.principal_id = :recipient' },
    principal: { by: ['principal'], from: waitingOf, where: 'q.principal_id = :principal' },
  },
  key: [down('m.tx_id', 'bytes')],
  noun: 'pending transactions',
  narrowFilter: 'a sender',
  ownOrder: null,
  orders: { age: { columns: byAge }, size: { columns: bySize }, fee: { columns: byFee } },
  whole: {
    age: { ...waitingRows, columns: byAge },
    size: { ...waitingRows, columns: bySize },
    fee: { ...waitingRows, columns: byFee },
  },
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
  const pages = searcher<
    Stored<'mempool_transactions', 'tx_id'>,
    keyof typeof search.filters,
    keyof typeof search.ways,
    PendingOrder['by']
  >(db, search, UNLIMITED);
  const { counted, feesAndSizes } = statements(db, pendingTotalsSql);
  const total = pendingCount(db);

  function found(filter: PendingFilter, order: PendingOrder, limit: number, offset: number) {
    const { by, direction } = order;
    const names = (['sender', 'recipient', 'principal'] as const).filter((name) => filter[name] !== null);
    if (names.length === 0) return { items: pages.all(by, direction, limit, offset), total: total() };
    const values: Record<keyof PendingFilter, number | null> = { sender: null, recipient: null, principal: null };
    const ways = names.map((way) => {
      const row = counted.get(filter[way] ?? '');
      values[way] = row?.id ?? null;
      // The count also includes transactions with the principal in another role.
      return { way, size: row?.pending ?? 0, isEstimate: true };
    });
    return pages.filtered({ values, found: ways }, by, direction, limit, offset);
  }

  return {
    search(
      filter: PendingFilter,
      order: PendingOrder,
      limit: number,
      offset: number,
    ): OffsetPage<PendingTransactionDetail> {
      const { items, total } = found(filter, order, limit, offset);
      return { items: items.flatMap(({ tx_id }) => mempool.find(tx_id) ?? []), total };
    },

    /** Fee and size of each pending transaction. */
    feesAndSizes: (): PendingFeeAndSize[] =>
      feesAndSizes.all().map(({ type, fee, receipt_block_height, size }) => ({
        type: typeName(type),
        fee: Number(decimalOf(fee)),
        receiptBlockHeight: receipt_block_height,
        size,
      })),
  };
}
