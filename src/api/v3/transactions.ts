import { toHex } from '../../codec/hex.ts';
import { notFound } from '../../http/errors.ts';
import { chainTip, transaction } from '../../http/etag.ts';
import { CursorPage, cursorPage, cursorQuery, pageCursor } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import { includeQuery, TxId } from '../shared/parameters.ts';
import { TransactionEvent } from './schemas/event.ts';
import { FoundTransaction, ListedTransaction } from './schemas/transaction.ts';
import { transactionEvent } from './serialize/event.ts';
import { fullTransaction, includable } from './serialize/full-transaction.ts';
import { listedTransaction } from './serialize/transaction.ts';

const tag = 'Transactions';
const UNKNOWN = 'Transaction not found';

export const transactions = [
  route({
    path: '/extended/v3/transactions',
    operationId: 'getTransactions',
    summary: 'Recent transactions',
    description: 'Returns the transactions of the canonical chain, newest first.',
    tag,
    query: cursorQuery,
    response: CursorPage(ListedTransaction),
    etag: chainTip,
    handle: async ({ query: { limit, cursor }, read }) => {
      const page = await read.transactions.page(limit, pageCursor('transactions', cursor));
      return cursorPage('transactions', limit, page, listedTransaction);
    },
  }),
  route({
    path: '/extended/v3/transactions/{tx_id}',
    operationId: 'getTransaction',
    summary: 'One transaction',
    description:
      'Returns a transaction whether it is mined, pending or dropped; `status` tells which. Large parts (arguments, source code, post-conditions, result) are returned only if `include` names them.',
    tag,
    params: { tx_id: TxId },
    query: includeQuery(...includable),
    response: FoundTransaction,
    notFound: UNKNOWN,
    etag: transaction,
    handle: async ({ params: { tx_id }, query: { include = [] }, read }) => {
      const found = await read.transactions.find(tx_id);
      if (found === undefined) throw notFound(UNKNOWN);
      return fullTransaction(found, include);
    },
  }),
  route({
    path: '/extended/v3/transactions/{tx_id}/events',
    operationId: 'getTransactionEvents',
    summary: 'Events of a transaction',
    description:
      'Returns the events of a transaction of the canonical chain in the order in which they happened. A pending transaction has none.',
    tag,
    params: { tx_id: TxId },
    query: cursorQuery,
    response: CursorPage(TransactionEvent),
    notFound: UNKNOWN,
    etag: transaction,
    handle: async ({ params: { tx_id }, query: { limit, cursor }, read }) => {
      const list = `transaction-events ${toHex(tx_id)}`;
      const page = await read.events.ofTransaction(tx_id, limit, pageCursor(list, cursor));
      if (page === undefined) throw notFound(UNKNOWN);
      return cursorPage(list, limit, page, transactionEvent);
    },
  }),
];
