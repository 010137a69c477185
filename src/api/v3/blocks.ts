import { toHex } from '../../codec/hex.ts';
import { notFound } from '../../http/errors.ts';
import { block } from '../../http/etag.ts';
import { CursorPage, cursorPage, cursorQuery, pageCursor } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import type { BlockId } from '../../store/model/block.ts';
import { BlockParameter } from '../shared/parameters.ts';
import { ListedTransaction } from './schemas/transaction.ts';
import { listedTransaction } from './serialize/transaction.ts';

const UNKNOWN = 'Block not found';

/** The list's name for cursors, by the id that was asked for. */
const listOf = (id: BlockId) =>
  `block-transactions ${id === 'latest' ? id : 'height' in id ? id.height : toHex(id.hash)}`;

export const blocks = [
  route({
    path: '/extended/v3/blocks/{height_or_hash}/transactions',
    operationId: 'getBlockTransactions',
    summary: 'Transactions of a block',
    description: 'Returns the transactions of a block of the canonical chain, starting with the last one in the block.',
    tag: 'Blocks',
    params: { height_or_hash: BlockParameter },
    query: cursorQuery,
    response: CursorPage(ListedTransaction),
    notFound: UNKNOWN,
    etag: block,
    handle: async ({ params: { height_or_hash }, query: { limit, cursor }, read }) => {
      const list = listOf(height_or_hash);
      const page = await read.transactions.ofBlock(height_or_hash, limit, pageCursor(list, cursor));
      if (page === undefined) throw notFound(UNKNOWN);
      return cursorPage(list, limit, page, listedTransaction);
    },
  }),
];
