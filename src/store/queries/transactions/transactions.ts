/** Transactions of the canonical chain: all, of a block, of a principal, or one by its id. */
import type { Database } from 'bun:sqlite';
import { heightOf, positionsOf } from '../../../chain/position.ts';
import type { PrincipalTransaction } from '../../model/account.ts';
import type { BlockId } from '../../model/block.ts';
import type { Cursor, Page } from '../../model/page.ts';
import type { FoundTransaction, TransactionState, TransactionSummary } from '../../model/transaction.ts';
import { AFFECTED, mempoolStatus } from '../../rows/enums.ts';
import { prepared, type Stored } from '../../rows/statement.ts';
import type { ChainQueries } from '../blocks/chain.ts';
import type { ChainCache } from '../chain-cache.ts';
import { down, lister, ordered, statementsOf } from '../list.ts';
import type { MempoolQueries } from '../mempool.ts';
import { numberAt, readPage } from '../page.ts';
import type { DetailQueries } from './details.ts';
import { type SummaryRow, summary, summaryOf } from './summary.ts';
import { transactionWalk } from './transaction-lists.ts';

const newest = [down('position')];
const lists = {
  all: ordered({ select: 'SELECT position FROM transactions' }, newest, { isEnded: true }),
  ofPrincipal: ordered(
    {
      select: 'SELECT position, affected, stx_sent, stx_received FROM principal_transactions',
      where: 'principal_id = ?1',
    },
    newest,
  ),
};

export const sql = {
  total: 'SELECT preceding_transactions + transactions AS total FROM blocks ORDER BY height DESC LIMIT 1',
  at: `SELECT ${summary.columns} FROM transactions t ${summary.joins} WHERE t.position = ?1`,
  ofPrincipalTotal: `SELECT a.principal_id, a.transactions AS total FROM principals p
                       JOIN accounts a ON a.principal_id = p.id WHERE p.address = ?1`,
  ...statementsOf(lists),
};

type PositionRow = Stored<'transactions', 'position'>;

type InvolvementRow = PositionRow & Stored<'principal_transactions', 'affected' | 'stx_sent' | 'stx_received'>;

/** A number that no principal has. */
const NOBODY = 0;

/** Approximate bytes of a cached summary, with the texts that are made of it. */
const SUMMARY_BYTES = 2_000;

/** Approximate bytes of a cached transaction of a principal, with the text that is made of it. */
const INVOLVEMENT_BYTES = 2_000;

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

/** Reads the summaries of transactions at existing positions. */
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
  const all = lister<PositionRow>(db, lists.all);
  const ofPrincipalTotal = prepared<Stored<'accounts', 'principal_id'> & { total: number }, [string]>(
    db,
    sql.ofPrincipalTotal,
  );
  const involvements = lister<InvolvementRow>(db, lists.ofPrincipal);

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
      return readPage({ limit, at, total: total.get()?.total ?? 0, ...all([]), itemOf: summaryAt });
    },

    /** Canonical transactions that meet conditions, newest first. A page may be short, or empty, and have a next one. */
    meeting: transactionWalk(db, summaryAt, walkRows),

    /**
     * Transactions of a block, the last first; undefined if there is no such canonical block. A walk of the latest block
     * stays in its first block.
     */
    ofBlock(id: BlockId, limit: number, at: Cursor | null): Page<TransactionSummary> | undefined {
      const begun = id === 'latest' && at !== null && at.key.length > 0;
      const block = chain.block(begun ? { height: heightOf(numberAt(at.key, 0)) } : id);
      if (block === null) return undefined;
      const rows = all([], positionsOf(block.height));
      return readPage({ limit, at, total: block.transactions, ...rows, itemOf: summaryAt });
    },

    /** Transactions of a principal, newest first. */
    ofPrincipal(principal: string, limit: number, at: Cursor | null): Page<PrincipalTransaction> {
      const account = ofPrincipalTotal.get(principal);
      const id = account?.principal_id ?? NOBODY;
      return readPage({
        limit,
        at,
        total: account?.total ?? 0,
        ...involvements([id]),
        itemOf: (row) => involvementOf(row, id, principal),
      });
    },

    /** The canonical transaction, else the pending or dropped one; undefined if the id is unknown. */
    find(txId: Uint8Array): FoundTransaction | undefined {
      const transaction = details.find(txId);
      if (transaction !== undefined) return { mined: true, transaction };
      const pending = mempool.find(txId);
      return pending === undefined ? undefined : { mined: false, transaction: pending };
    },

    /** Block and status of a transaction; undefined if the id is unknown. */
    state(txId: Uint8Array): TransactionState | undefined {
      const mined = details.state(txId);
      if (mined !== undefined) return mined;
      const pending = mempool.state(txId);
      return pending === undefined ? undefined : { indexBlockHash: null, status: mempoolStatus(pending) };
    },
  };
}
