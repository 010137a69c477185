import { mempool as mempoolTag } from '../../http/etag.ts';
import { CursorPage, cursorPage, cursorQuery, pageCursor } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import { words } from '../shared/schemas/values.ts';
import { PendingSummary } from './schemas/transaction.ts';
import { pendingSummary } from './serialize/transaction.ts';

const LIST = 'mempool-transactions';
const LIST_OF_TYPE = 'mempool-of-type';

/** Types that a node admits to its mempool. */
const PENDING_TYPES = ['token_transfer', 'contract_call', 'smart_contract'] as const;

export const mempool = [
  route({
    path: '/extended/v3/mempool/transactions',
    operationId: 'getMempoolTransactions',
    summary: 'Pending transactions',
    description: 'Returns the transactions in the mempool, starting with the one received last.',
    tag: 'Mempool',
    query: cursorQuery,
    response: CursorPage(PendingSummary),
    etag: mempoolTag,
    handle: async ({ query: { limit, cursor }, read }) => {
      const page = await read.mempool.page(limit, pageCursor(LIST, cursor));
      return cursorPage(LIST, limit, page, pendingSummary);
    },
  }),
  // Stackside's own: the items are those of v3.
  route({
    path: '/stackside/v1/mempool/transactions',
    operationId: 'getMempoolTransactionsOfType',
    summary: 'Pending transactions of one type',
    description:
      'Returns the transactions of one type in the mempool, starting with the one that offers the highest fee. The items are those of `/extended/v3/mempool/transactions`.',
    tag: 'Stackside',
    query: {
      type: { ...words(...PENDING_TYPES), description: 'Type of the transactions' },
      ...cursorQuery,
    },
    response: CursorPage(PendingSummary),
    etag: mempoolTag,
    handle: async ({ query: { type, limit, cursor }, read }) => {
      // A cursor leads through the list of its type alone.
      const list = `${LIST_OF_TYPE} ${type}`;
      return cursorPage(list, limit, await read.mempool.ofType(type, limit, pageCursor(list, cursor)), pendingSummary);
    },
  }),
];
