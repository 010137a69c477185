/** The transactions of a block, whole, as v1 and v2 list them. */
import { notFound } from '../../http/errors.ts';
import { anyFork, block as blockTag } from '../../http/etag.ts';
import { serializedLate } from '../../http/json.ts';
import { legacyOffsetQuery, OffsetPage } from '../../http/offset-pagination.ts';
import { route } from '../../http/route.ts';
import type { OffsetPage as Found } from '../../store/model/page.ts';
import type { TransactionDetail } from '../../store/model/transaction.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { BlockHeight, excludeFunctionArgs, HexHash } from '../shared/legacy-parameters.ts';
import { BlockParameter } from '../shared/parameters.ts';
import { declarationsFor, ListedTransaction, listedTransaction } from '../shared/transaction.ts';

const tag = 'Transactions (v1)';
const response = OffsetPage(ListedTransaction);

interface Asked {
  limit: number;
  offset: number;
  exclude_function_args?: boolean;
}

async function serialized(read: Reader, page: Found<TransactionDetail>, asked: Asked) {
  const { limit, offset, exclude_function_args: withoutArguments = false } = asked;
  const declarations = await declarationsFor(read, page.items);
  const results = serializedLate(page.items, (item) => listedTransaction(item, { declarations, withoutArguments }));
  return { limit, offset, total: page.total, results };
}

export const blockTransactions = [
  route({
    path: '/extended/v1/tx/block/{block_hash}',
    operationId: 'getTransactionsByBlockHash',
    summary: 'Transactions of a block by hash',
    description:
      'Returns the transactions of a block, starting with the last one in the block. Orphaned blocks return an empty list.',
    tag,
    deprecated: { replacement: '/extended/v3/blocks/{block_hash}/transactions' },
    params: { block_hash: HexHash },
    query: { ...legacyOffsetQuery({ maximum: 200, default: 20 }), exclude_function_args: excludeFunctionArgs },
    response,
    notFound: 'Block not found',
    etag: anyFork,
    handle: async ({ params: { block_hash }, query, read }) => {
      const page = await read.transactions.inBlock({ hash: block_hash }, 'desc', query.limit, query.offset);
      if (page === undefined) throw notFound('no block found by hash');
      return serialized(read, page, query);
    },
  }),
  route({
    path: '/extended/v1/tx/block_height/{height}',
    operationId: 'getTransactionsByBlockHeight',
    summary: 'Transactions of a block by height',
    description:
      'Returns the transactions of the canonical block at a height, starting with the last one in the block.',
    tag,
    deprecated: { replacement: '/extended/v3/blocks/{height}/transactions' },
    params: { height: BlockHeight },
    query: { ...legacyOffsetQuery({ maximum: 50, default: 20 }), exclude_function_args: excludeFunctionArgs },
    response,
    notFound: 'Block not found',
    etag: anyFork,
    handle: async ({ params: { height }, query, read }) => {
      const page = await read.transactions.inBlock({ height }, 'desc', query.limit, query.offset);
      if (page === undefined) throw notFound(`no block found at height ${height}`);
      return serialized(read, page, query);
    },
  }),
  route({
    path: '/extended/v2/blocks/{height_or_hash}/transactions',
    operationId: 'getBlockTransactionsV2',
    summary: 'Transactions of a block (v2)',
    description: 'Returns the transactions of a block, starting with the first one in the block.',
    tag: 'Blocks (v2)',
    deprecated: { replacement: '/extended/v3/blocks/{height_or_hash}/transactions' },
    params: { height_or_hash: BlockParameter },
    query: legacyOffsetQuery({ maximum: 50, default: 20 }),
    response,
    notFound: 'Block not found',
    etag: blockTag,
    handle: async ({ params: { height_or_hash }, query, read }) => {
      const block = await read.blocks.find(height_or_hash);
      const page =
        block && (await read.transactions.inBlock({ height: block.height }, 'asc', query.limit, query.offset));
      if (page === undefined) throw notFound('Block not found');
      return serialized(read, page, query);
    },
  }),
];
