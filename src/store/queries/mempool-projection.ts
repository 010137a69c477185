/** The projection of the mempool: the blocks that pending transactions would fill. */
import type { Database } from 'bun:sqlite';
import type { Turns } from '../../base/turns.ts';
import {
  type Candidate,
  feeForFirstBlock,
  MAX_CHAINED,
  type Projection,
  projectionOf,
} from '../../chain/projection.ts';
import type { OffsetPage } from '../model/page.ts';
import type { MempoolProjection, PendingAwaits, PendingTransaction } from '../model/transaction.ts';
import { MEMPOOL_STATE, PAYLOAD } from '../rows/enums.ts';
import { decimalOf } from '../rows/formats.ts';
import { query, type Stored, statements } from '../rows/statement.ts';
import { lockQuery } from './accounts/locks.ts';
import { lastNonceIn, type StartingAccount, startingAccountQuery } from './accounts/starting-accounts.ts';
import type { ChainQueries } from './blocks/chain.ts';
import { LAST_HEIGHT } from './blocks/windows.ts';
import { sql as mempool, pendingCount, pendingMeetingSql, pendingOf } from './mempool.ts';
import { numbers } from './numbers.ts';

/** Greater than every fee. */
const HIGHEST_FEE = '~';
/** Bytes greater than every transaction id. */
const LAST_ID = new Uint8Array(33).fill(0xff);

/** Maximum number of transactions in a projection, highest fees first. */
const MAX_PROJECTED = 20_000;
/** Reads at most this many times as many transactions, since one account may have many with nonces that don't fit yet. */
const READ_FACTOR = 5;
/** Maximum number of functions with calls to read for a projection. */
const MAX_FUNCTIONS = 1_000;
/** Number of a function's newest calls that its cost is estimated from. */
const CALLS_OF_FUNCTION = 5;
/** Number of rows to read before other work may have its turn. */
const BATCH = 50;

const candidateColumns = `m.tx_id, m.received_at, m.fee, m.size, m.type, m.sender_id, m.nonce, m.sponsor_id, m.sponsor_nonce,
                          m.contract_id, m.function_name, m.amount`;
const pendingRows = `SELECT ${candidateColumns} FROM mempool_transactions m WHERE m.state = ${MEMPOOL_STATE.pending}`;

export const sql = {
  byFee: query<CandidateRow, [string, Uint8Array, number]>`
    ${pendingRows} AND (m.fee, m.tx_id) < (?1, ?2) ORDER BY m.fee DESC, m.tx_id DESC LIMIT ?3`,
  byId: query<CandidateRow, [Uint8Array]>`${pendingRows} AND m.tx_id = ?1`,
  ofSender: query<Pick<CandidateRow, 'tx_id'>, [number, number]>`
    SELECT tx_id FROM mempool_transactions
     WHERE state = ${MEMPOOL_STATE.pending} AND sender_id = ?1 AND nonce = ?2 LIMIT 1`,
  ofSponsor: query<Pick<CandidateRow, 'tx_id'>, [number, number]>`
    SELECT tx_id FROM mempool_transactions
     WHERE state = ${MEMPOOL_STATE.pending} AND sponsor_id = ?1 AND sponsor_nonce = ?2 LIMIT 1`,
  account: query<{ last: number; balance: string | null; locks: number }, [number]>`
    SELECT ${lastNonceIn('transactions WHERE nonce IS NOT NULL', 'transactions WHERE true')} AS last,
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

interface AccountAtTip {
  /** Null if it is unknown: the index starts at a block, and the node hasn't sent the account's state. */
  nextNonce: number | null;
  /** micro-STX that are not locked; null if it is unknown. */
  available: bigint | null;
}

/** An account of the whole chain before the first block. */
const NO_ACCOUNT: StartingAccount = { balance: 0n, locked: 0n, unlockHeight: 0, nonce: 0n };

/** Whether a miner may reach a nonce soon: it is an exact number, and not far above the next nonce. */
const isNear = (nonce: number, next: number | null): boolean =>
  Number.isSafeInteger(nonce) && (next === null || (nonce >= next && nonce < next + MAX_CHAINED));

/** The projection of the mempool in the cache. */
interface CachedProjection extends Projection, Omit<MempoolProjection, 'blocks' | 'places'> {}

export type SharedProjection = ReturnType<typeof sharedProjection>;

/**
 * Caches the last projection for all connections of a thread to one file. If several requests need the projection of one
 * state of the mempool, the first makes it, and the others wait.
 */
export function sharedProjection() {
  let last: { key: string; projection: Promise<CachedProjection> } | null = null;
  return {
    /** @param key identifies the state of the mempool and the tip @param make makes the projection if none is cached */
    async get(key: string, make: () => Promise<CachedProjection>): Promise<CachedProjection> {
      while (last?.key === key) {
        const current = last;
        try {
          return await current.projection;
        } catch {
          // The request that made the projection reports the error, such as a cut-off snapshot. This request makes a new one.
          if (last === current) last = null;
        }
      }
      last = { key, projection: make() };
      return last.projection;
    },
  };
}

/**
 * The projection of the mempool. It reads a bounded number of rows: the transactions with the highest fees, a row of each
 * account, and some calls of each called function.
 * @param shared the last projection of the file
 * @param maxRows maximum number of transactions in a projection; tests use fewer than the default
 */
export function mempoolProjection(
  db: Database,
  chain: Pick<ChainQueries, 'tip' | 'historyStart'>,
  turns: Turns,
  shared: SharedProjection,
  maxRows = MAX_PROJECTED,
) {
  const { byFee, byId, ofSender, ofSponsor, account: accountOf, cost } = statements(db, sql);
  const { addressOf } = numbers(db);
  const total = pendingCount(db);
  const version = mempool.version.prepared(db);
  const itemAt = pendingMeetingSql.byId.prepared(db);
  const lockAt = lockQuery(db);
  const startingAccount = startingAccountQuery(db);

  /** Reads accounts, each once. */
  function accountsAtTip(): (account: number) => AccountAtTip {
    const isWhole = chain.historyStart() === null;
    const accounts = new Map<number, AccountAtTip>();
    const read = (account: number): AccountAtTip => {
      const { last, balance, locks } = accountOf.get(account)!;
      const afterLast = last < 0 ? null : last + 1;
      const start = isWhole ? NO_ACCOUNT : startingAccount(account);
      if (start === null) return { nextNonce: afterLast, available: null };
      const nextNonce = afterLast ?? Number(start.nonce);
      const owned = start.balance + (balance === null ? 0n : BigInt(decimalOf(balance)));
      // In a partial recording, balances may be negative. The account's real balance is unknown then.
      if (owned < 0n) return { nextNonce, available: null };
      const mayLock = locks === 1 || start.locked > 0n;
      const lock = mayLock ? lockAt(account, LAST_HEIGHT) : null;
      return { nextNonce, available: owned - (lock?.amount ?? 0n) };
    };
    return (account) => {
      const state = accounts.get(account) ?? read(account);
      accounts.set(account, state);
      return state;
    };
  }

  /** Estimates the cost of calls: the mean of some earlier calls of their function. Reads each function once, up to a limit. */
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

  /** The account that can't pay its part of a transaction, and the needed and available micro-STX; null if all can pay. */
  function shortfallOf(row: CandidateRow, accounts: (account: number) => AccountAtTip) {
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

  const project = (): Promise<CachedProjection> =>
    shared.get(`${chain.tip()?.indexBlockHash.toHex()} ${version.get()?.version}`, make);

  async function make(): Promise<CachedProjection> {
    const pause = turns.longWork();
    const accounts = accountsAtTip();
    const estimateOf = costEstimates();
    const candidates: Candidate[] = [];
    const counts = { read: 0, byBalance: 0, estimated: 0 };

    function take(row: CandidateRow): void {
      counts.read += 1;
      if (spendsOf(row).some(({ account, nonce }) => !isNear(nonce, accounts(account).nextNonce))) return;
      if (shortfallOf(row, accounts) !== null) {
        counts.byBalance += 1;
        return;
      }
      if (estimateOf(row) !== null) counts.estimated += 1;
      candidates.push(candidateOf(row, estimateOf));
    }

    let last: Pick<CandidateRow, 'fee' | 'tx_id'> | undefined = { fee: HIGHEST_FEE, tx_id: LAST_ID };
    while (last !== undefined && candidates.length < maxRows && counts.read < READ_FACTOR * maxRows) {
      const rows: CandidateRow[] = byFee.all(last.fee, last.tx_id, BATCH);
      for (const row of rows) take(row);
      last = rows.at(-1);
      await pause();
    }
    const projection = await projectionOf(candidates, (account) => accounts(account).nextNonce, pause);
    return {
      ...projection,
      total: total(),
      considered: counts.read,
      withoutBalance: counts.byBalance,
      withoutNonce: counts.read - counts.byBalance - projection.places.size,
      estimated: counts.estimated,
    };
  }

  /**
   * The first nonce below a transaction's nonce that no projected block spends. If blocks spend all of them, and they are as
   * many as a node accepts, it is the account's next nonce; if they are fewer, null.
   */
  function awaitedBefore(
    { account, nonce }: Candidate['spends'][number],
    next: number,
    places: CachedProjection['places'],
  ): PendingAwaits | null {
    const spenders = (earlierNonce: number) =>
      [ofSender, ofSponsor].flatMap((statement) => statement.all(account, earlierNonce));
    const toAwaits = (earlierNonce: number): PendingAwaits => ({
      for: 'nonce',
      principal: addressOf(account),
      nonce: earlierNonce,
      txId: spenders(earlierNonce)[0]?.tx_id ?? null,
    });
    for (let earlierNonce = next; earlierNonce < Math.min(nonce, next + MAX_CHAINED); earlierNonce++) {
      if (!spenders(earlierNonce).some(({ tx_id }) => places.has(tx_id.toHex()))) return toAwaits(earlierNonce);
    }
    return nonce < next + MAX_CHAINED ? null : toAwaits(next);
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
      const shortfall = shortfallOf(row, accounts);
      const awaits = spendsOf(row).flatMap((spent) => awaitedBefore(spent, nextNonce(spent.account), places) ?? []);
      if (shortfall !== null) {
        const { account, needed, available } = shortfall;
        awaits.push({ for: 'balance', principal: addressOf(account), needed, available });
      }
      // A transaction in a projected block has the estimate that the block was filled with.
      const projected = place === null ? undefined : blocks[place.block - 1]?.transactions[place.place - 1];
      const candidate = projected ?? candidateOf(row, costEstimates());
      return { place, awaits, fee: awaits.length > 0 ? null : feeForFirstBlock(candidate, blocks, nextNonce) };
    },

    /** The first transactions of a projected block, in their order; none if there is no such block. @param block from 1 */
    async inProjectedBlock(block: number, limit: number): Promise<OffsetPage<PendingTransaction>> {
      const { transactions = [] } = (await project()).blocks[block - 1] ?? {};
      const items = transactions.slice(0, limit).map(({ txId }) => pendingOf(itemAt.get(txId)!));
      return { items, total: transactions.length };
    },
  };
}
