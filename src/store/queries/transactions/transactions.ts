/** Transactions of the canonical chain: all, of a block, of a principal, or one by its id. */
import type { Database } from 'bun:sqlite';
import { heightOf, positionsOf } from '../../../chain/position.ts';
import type { PrincipalTransaction } from '../../model/account.ts';
import type { BlockId } from '../../model/block.ts';
import type { Cursor, ListOrder, Page } from '../../model/page.ts';
import type {
  FoundTransaction,
  TransactionConditions,
  TransactionState,
  TransactionSummary,
} from '../../model/transaction.ts';
import { AFFECTED, mempoolStatus } from '../../rows/enums.ts';
import { query, type Stored, statements } from '../../rows/statement.ts';
import { type Involvement, involvements } from '../accounts/address-transactions.ts';
import type { ChainQueries } from '../blocks/chain.ts';
import { down, orderedList } from '../list.ts';
import type { MempoolQueries } from '../mempool.ts';
import { NOBODY } from '../numbers.ts';
import { numberAt, readPage } from '../page.ts';
import type { ItemsOf, RowTexts } from '../row-texts.ts';
import type { DetailQueries } from './details.ts';
import { rowsAt, type SummaryRow, summary, summaryOf } from './summary.ts';
import { transactionCount, transactionWalk } from './transaction-lists.ts';

export const sql = {
  // In the order of the positions, which are a JSON array.
  atEach: query<SummaryRow, [string]>`
    SELECT ${summary.columns} FROM json_each(?1) k CROSS JOIN transactions t ON t.position = k.value ${summary.joins}`,
  ofPrincipalTotal: query<Stored<'accounts', 'principal_id'> & { total: number }, [string]>`
    SELECT a.principal_id, a.transactions AS total FROM principals p
      JOIN accounts a ON a.principal_id = p.id WHERE p.address = ?1`,
  all: orderedList<PositionRow>({ select: 'SELECT position FROM transactions' }, [down('position')], {
    isBounded: true,
  }),
  ofPrincipal: involvements,
};

type PositionRow = Stored<'transactions', 'position'>;

const positionIn = ({ position }: PositionRow): number => position;

function involvementOf(
  { sender, sponsor }: TransactionSummary,
  principal: string,
): PrincipalTransaction['involvement'] {
  if (sender.address === principal) return 'sender';
  return sponsor?.address === principal ? 'sponsor' : 'affected';
}

function principalTransactionOf(
  row: Involvement,
  transaction: TransactionSummary,
  principal: string,
): PrincipalTransaction {
  return {
    transaction,
    involvement: involvementOf(transaction, principal),
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
  texts: RowTexts;
}

/** Reads the summaries of transactions at existing positions, in the order of the positions. */
function summaryReader(db: Database) {
  const atEach = sql.atEach.prepared(db);
  return (positions: readonly number[]): TransactionSummary[] =>
    rowsAt(positions, atEach.all(JSON.stringify(positions))).map(summaryOf);
}

/** @param walkRows rows that a page of a list with conditions reads at most; the default if omitted */
export function transactionQueries(db: Database, { chain, mempool, details, texts }: Sources, walkRows?: number) {
  const summariesAt = summaryReader(db);
  const meeting = transactionWalk(db, walkRows);
  const { ofPrincipalTotal, ofPrincipal, all } = statements(db, sql);
  const total = transactionCount(db);

  const pageOf = <Item, Total extends number | null>(
    page: Page<number, Total>,
    items: ItemsOf<TransactionSummary, Item>,
  ): Page<Item, Total> => ({ ...page, items: items(texts.rowsAt(page.items, summariesAt)) });

  return {
    /** All canonical transactions, newest first. */
    page<Item>(limit: number, cursor: Cursor | null, items: ItemsOf<TransactionSummary, Item>): Page<Item> {
      const page = readPage({ limit, cursor, total: total(), ...all([]), itemOf: positionIn });
      return pageOf(page, items);
    },

    /** Canonical transactions that meet conditions, newest first. A page may be short, or empty, and still have a next page. */
    meeting: <Item>(
      conditions: TransactionConditions,
      order: ListOrder,
      limit: number,
      cursor: Cursor | null,
      items: ItemsOf<TransactionSummary, Item>,
    ): Page<Item, number | null> => pageOf(meeting(conditions, order, limit, cursor), items),

    /**
     * Transactions of a block, the last first; undefined if there is no such canonical block. A walk of the latest block
     * stays in its first block.
     */
    ofBlock<Item>(
      id: BlockId,
      limit: number,
      cursor: Cursor | null,
      items: ItemsOf<TransactionSummary, Item>,
    ): Page<Item> | undefined {
      const isContinued = id === 'latest' && cursor !== null && cursor.key.length > 0;
      const block = chain.block(isContinued ? { height: heightOf(numberAt(cursor.key, 0)) } : id);
      if (block === null) return undefined;
      const rows = all([], positionsOf(block.height));
      return pageOf(readPage({ limit, cursor, total: block.transactions, ...rows, itemOf: positionIn }), items);
    },

    /** Transactions of a principal, newest first. */
    ofPrincipal<Item>(
      principal: string,
      limit: number,
      cursor: Cursor | null,
      items: ItemsOf<PrincipalTransaction, Item>,
    ): Page<Item> {
      const { principal_id: id, total } = ofPrincipalTotal.get(principal) ?? { principal_id: NOBODY, total: 0 };
      const page = readPage({ limit, cursor, total, ...ofPrincipal([id]), itemOf: (row) => row });
      const rows = texts.rows(page.items, {
        idOf: ({ position }) => `${principal}/${position}`,
        heightOf: ({ position }) => heightOf(position),
        read(parts) {
          const transactions = summariesAt(parts.map(positionIn));
          return parts.map((row, index) => principalTransactionOf(row, transactions[index]!, principal));
        },
      });
      return { ...page, items: items(rows) };
    },

    /** The newest canonical transaction with an id. */
    findMined: details.find,

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
