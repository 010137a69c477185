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
import { down, lister, ordered, statementsOf } from '../list.ts';
import type { MempoolQueries } from '../mempool.ts';
import { numberAt, readPage } from '../page.ts';
import type { DetailQueries } from './details.ts';
import { type SummaryRow, summary, summaryOf } from './summary.ts';
import { transactionWalk } from './transaction-lists.ts';

const lists = {
  all: ordered({ select: `SELECT ${summary.columns} FROM transactions t ${summary.joins}` }, [down('t.position')], {
    isEnded: true,
  }),
  ofPrincipal: ordered(
    {
      select: `SELECT ${summary.columns}, p.affected, p.stx_sent, p.stx_received
                 FROM principal_transactions p CROSS JOIN transactions t ON t.position = p.position ${summary.joins}`,
      where: 'p.principal_id = ?1',
    },
    [down('p.position')],
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

type InvolvementRow = SummaryRow & Stored<'principal_transactions', 'affected' | 'stx_sent' | 'stx_received'>;

/** A number that no principal has. */
const NOBODY = 0;

function principalTransactionOf(row: InvolvementRow, principal: string): PrincipalTransaction {
  const transaction = summaryOf(row);
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

interface Sources {
  chain: ChainQueries;
  mempool: MempoolQueries;
  details: DetailQueries;
}

/** Reads the summaries of transactions at existing positions. */
function summaryReader(db: Database) {
  const at = prepared<SummaryRow, [number]>(db, sql.at);
  return ({ position }: PositionRow): TransactionSummary => {
    const row = at.get(position);
    if (row === null) throw new Error(`no transaction at position ${position}`);
    return summaryOf(row);
  };
}

/** @param walkRows rows that a page of a list with conditions reads at most; the default if omitted */
export function transactionQueries(db: Database, { chain, mempool, details }: Sources, walkRows?: number) {
  const total = prepared<{ total: number }, []>(db, sql.total);
  const all = lister<SummaryRow>(db, lists.all);
  const ofPrincipalTotal = prepared<Stored<'accounts', 'principal_id'> & { total: number }, [string]>(
    db,
    sql.ofPrincipalTotal,
  );
  const involvements = lister<InvolvementRow>(db, lists.ofPrincipal);

  return {
    /** All canonical transactions, newest first. */
    page(limit: number, at: Cursor | null): Page<TransactionSummary> {
      return readPage({ limit, at, total: total.get()?.total ?? 0, ...all([]), itemOf: summaryOf });
    },

    /** Canonical transactions that meet conditions, newest first. A page may be short, or empty, and have a next one. */
    meeting: transactionWalk(db, summaryReader(db), walkRows),

    /**
     * Transactions of a block, the last first; undefined if there is no such canonical block. A walk of the latest block
     * stays in its first block.
     */
    ofBlock(id: BlockId, limit: number, at: Cursor | null): Page<TransactionSummary> | undefined {
      const begun = id === 'latest' && at !== null && at.key.length > 0;
      const block = chain.block(begun ? { height: heightOf(numberAt(at.key, 0)) } : id);
      if (block === null) return undefined;
      const rows = all([], positionsOf(block.height));
      return readPage({ limit, at, total: block.transactions, ...rows, itemOf: summaryOf });
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
        itemOf: (row) => principalTransactionOf(row, principal),
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
