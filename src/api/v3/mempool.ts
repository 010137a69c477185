import { mempool as mempoolTag } from '../../http/etag.ts';
import { CursorPage, cursorPage, cursorQuery, pageCursor } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import { PendingSummary } from './schemas/transaction.ts';
import { pendingSummary } from './serialize/transaction.ts';

const LIST = 'mempool-transactions';

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
];
