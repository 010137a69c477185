/** Transactions of the canonical chain: all, of a block, of a principal, or one by its id. */
import type { Database } from 'bun:sqlite';
import { heightOf, positionsOf } from '../../../chain/position.ts';
import type { PrincipalTransaction } from '../../model/account.ts';
import type { BlockId } from '../../model/block.ts';
import type { Cursor, CursorKey, Page } from '../../model/page.ts';
import type { FoundTransaction, TransactionState, TransactionSummary } from '../../model/transaction.ts';
import { AFFECTED, mempoolStatus } from '../../rows/enums.ts';
import { prepared, type Stored } from '../../rows/statement.ts';
import type { ChainQueries } from '../blocks/chain.ts';
import type { ChainCache } from '../chain-cache.ts';
import type { MempoolQueries } from '../mempool.ts';
import { keysetPage, numberAt } from '../page.ts';
import type { DetailQueries } from './details.ts';
import { type SummaryRow, summary, summaryOf } from './summary.ts';
import { transactionWalk } from './transaction-lists.ts';

const inBlock = 'position BETWEEN ?3 AND ?4';
const ofPrincipal = `SELECT position, affected, stx_sent, stx_received FROM principal_transactions
                      WHERE principal_id = ?1`;

export const sql = {
  total: 'SELECT transactions AS total FROM totals',
  at: `SELECT ${summary.columns} FROM transactions t ${summary.joins} WHERE t.position = ?1`,
  from: 'SELECT position FROM transactions WHERE position <= ?1 ORDER BY position DESC LIMIT ?2',
  before: 'SELECT position FROM transactions WHERE position > ?1 ORDER BY position LIMIT ?2',
  ofBlockFrom: `SELECT position FROM transactions WHERE position <= ?1 AND ${inBlock} ORDER BY position DESC LIMIT ?2`,
  ofBlockBefore: `SELECT position FROM transactions WHERE position > ?1 AND ${inBlock} ORDER BY position LIMIT ?2`,
  ofPrincipalTotal: `SELECT a.principal_id, a.transactions AS total FROM principals p
                       JOIN accounts a ON a.principal_id = p.id WHERE p.address = ?1`,
  ofPrincipalFrom: `${ofPrincipal} AND position <= ?2 ORDER BY position DESC LIMIT ?3`,
  ofPrincipalBefore: `${ofPrincipal} AND position > ?2 ORDER BY position LIMIT ?3`,
};

type PositionRow = Stored<'transactions', 'position'>;

type InvolvementRow = PositionRow & Stored<'principal_transactions', 'affected' | 'stx_sent' | 'stx_received'>;

/** Greater than every position. */
const NEWEST = Number.MAX_SAFE_INTEGER;

/** Approximate bytes of a cached summary, with the texts that are made of it. */
const SUMMARY_BYTES = 2_000;

/** Approximate bytes of a cached transaction of a principal, with the text that is made of it. */
const INVOLVEMENT_BYTES = 2_000;

const keyOf = ({ position }: PositionRow): CursorKey => [position];

function principalTransactionOf(
  row: InvolvementRow,
  transaction: TransactionSummary,
  principal: string,
): PrincipalTransaction {
  return {
    transaction,
    involvement:
      transaction.sender.address === principal
        ? 'sender'
        : transaction.sponsor?.address === principal
          ? 'sponsor'
          : 'affected',
    stx: { sent: BigInt(row.stx_sent), received: BigInt(row.stx_received) },
    affected: {
      stx: (row.affected & AFFECTED.stx) !== 0,
      ft: (row.affected & AFFECTED.ft) !== 0,
      nft: (row.affected & AFFECTED.nft) !== 0,
    },
  };
}

/** Reads what lists show of transactions at existing positions. */
function summaryReader(db: Database, cache: ChainCache) {
  const at = prepared<SummaryRow, [number]>(db, sql.at);
  return ({ position }: PositionRow): TransactionSummary => {
    const known = cache.ofChain().summaries;
    const before = known.get(position);
    if (before !== undefined) return before;
    const row = at.get(position);
    if (row === null) throw new Error(`no transaction at position ${position}`);
    const found = summaryOf(row);
    known.set(position, found, SUMMARY_BYTES);
    return found;
  };
}

interface Sources {
  chain: ChainQueries;
  mempool: MempoolQueries;
  details: DetailQueries;
  cache: ChainCache;
}

/** @param walkRows rows that a page of a list with conditions reads at most; the default if omitted */
export function transactionQueries(db: Database, { chain, mempool, details, cache }: Sources, walkRows?: number) {
  const summaryAt = summaryReader(db, cache);
  const total = prepared<{ total: number }, []>(db, sql.total);
  const from = prepared<PositionRow, [number, number]>(db, sql.from);
  const before = prepared<PositionRow, [number, number]>(db, sql.before);
  const ofBlockFrom = prepared<PositionRow, [number, number, number, number]>(db, sql.ofBlockFrom);
  const ofBlockBefore = prepared<PositionRow, [number, number, number, number]>(db, sql.ofBlockBefore);
  const ofPrincipalTotal = prepared<Stored<'accounts', 'principal_id'> & { total: number }, [string]>(
    db,
    sql.ofPrincipalTotal,
  );
  const ofPrincipalFrom = prepared<InvolvementRow, [number, number, number]>(db, sql.ofPrincipalFrom);
  const ofPrincipalBefore = prepared<InvolvementRow, [number, number, number]>(db, sql.ofPrincipalBefore);

  /** @param id of the principal */
  function involvementOf(row: InvolvementRow, id: number, principal: string): PrincipalTransaction {
    const known = cache.ofChain().involvements;
    const key = `${id}/${row.position}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    const found = principalTransactionOf(row, summaryAt(row), principal);
    known.set(key, found, INVOLVEMENT_BYTES);
    return found;
  }

  return {
    /** All canonical transactions, newest first. */
    page(limit: number, at: Cursor | null): Page<TransactionSummary> {
      return keysetPage<PositionRow, TransactionSummary>({
        limit,
        at,
        total: total.get()?.total ?? 0,
        rowsFrom: (key, count) => from.all(key === null ? NEWEST : numberAt(key, 0), count),
        rowsBefore: (key, count) => before.all(numberAt(key, 0), count),
        keyOf,
        itemOf: summaryAt,
      });
    },

    /** Canonical transactions that meet conditions, newest first. A page may be short, or empty, and have a next one. */
    meeting: transactionWalk(db, summaryAt, walkRows),

    /**
     * Transactions of a block, the last first; undefined where there is no such canonical block. A walk of the latest block
     * stays in the block in which it began.
     */
    ofBlock(id: BlockId, limit: number, at: Cursor | null): Page<TransactionSummary> | undefined {
      const begun = id === 'latest' && at !== null && at.key.length > 0;
      const block = chain.block(begun ? { height: heightOf(numberAt(at.key, 0)) } : id);
      if (block === null) return undefined;
      const { first, last } = positionsOf(block.height);
      return keysetPage<PositionRow, TransactionSummary>({
        limit,
        at,
        total: block.transactions,
        rowsFrom: (key, count) => ofBlockFrom.all(key === null ? NEWEST : numberAt(key, 0), count, first, last),
        rowsBefore: (key, count) => ofBlockBefore.all(numberAt(key, 0), count, first, last),
        keyOf,
        itemOf: summaryAt,
      });
    },

    /** Transactions of a principal, newest first. */
    ofPrincipal(principal: string, limit: number, at: Cursor | null): Page<PrincipalTransaction> {
      const account = ofPrincipalTotal.get(principal);
      return keysetPage<InvolvementRow, PrincipalTransaction>({
        limit,
        at,
        total: account?.total ?? 0,
        rowsFrom: (key, count) =>
          account === null
            ? []
            : ofPrincipalFrom.all(account.principal_id, key === null ? NEWEST : numberAt(key, 0), count),
        rowsBefore: (key, count) =>
          account === null ? [] : ofPrincipalBefore.all(account.principal_id, numberAt(key, 0), count),
        keyOf,
        itemOf: (row) => involvementOf(row, account?.principal_id ?? 0, principal),
      });
    },

    /** The canonical transaction, else the pending or dropped one; undefined where the id is unknown. */
    find(txId: Uint8Array): FoundTransaction | undefined {
      const transaction = details.find(txId);
      if (transaction !== undefined) return { mined: true, transaction };
      const pending = mempool.find(txId);
      return pending === undefined ? undefined : { mined: false, transaction: pending };
    },

    /** Block and status of a transaction; undefined where the id is unknown. */
    state(txId: Uint8Array): TransactionState | undefined {
      const mined = details.state(txId);
      if (mined !== undefined) return mined;
      const pending = mempool.state(txId);
      return pending === undefined ? undefined : { indexBlockHash: null, status: mempoolStatus(pending) };
    },
  };
}
