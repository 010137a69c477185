/** Blocks of v1, their transactions, and microblocks. */

import { Type } from '@sinclair/typebox';
import { requireFound } from '../../http/errors.ts';
import { anyFork, blockAndAnyFork, chainTip } from '../../http/etag.ts';
import { legacyOffsetQuery, listOf, OffsetPage, offsetPage, offsetQuery } from '../../http/pagination.ts';
import { ANY_TEXT, prefixed } from '../../http/request-url.ts';
import { route } from '../../http/route.ts';
import type { BlockSearch } from '../../store/model/block.ts';
import type { ListOrder } from '../../store/model/page.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { Block, block, Microblock, microblock } from '../shared/block.ts';
import { named } from '../shared/fields.ts';
import { BlockHeight, BlockParameter, excludeFunctionArgs, HexHash } from '../shared/parameters.ts';
import { Transaction, transactionRows } from '../shared/transaction.ts';

const tag = 'Blocks (v1)';

const requireBlock = (read: Reader, search: BlockSearch, unknown: string) =>
  block(requireFound(read.blocks.whole(search), unknown), 'ascending');

const UNKNOWN = {
  hash: 'cannot find block by hash',
  height: 'cannot find block by height',
  burnHash: 'cannot find block by burn block hash',
};

const single = { tag, etag: anyFork, history: 'thing' } as const;

export const blocks = [
  route({
    path: '/extended/v1/block',
    operationId: 'getBlockList',
    summary: 'Recent blocks',
    description: 'Returns the blocks of the canonical chain, highest first, each with the ids of its transactions.',
    tag,
    deprecated: { replacement: '/extended/v2/blocks' },
    query: legacyOffsetQuery({ maximum: 30, default: 20 }),
    response: OffsetPage(Block),
    etag: chainTip,
    history: 'since',
    long: true,
    handle: async ({ query, read }) =>
      offsetPage(query, await read.blocks.wholePage(query.limit, query.offset), (item) => block(item, 'descending')),
  }),
  route({
    ...single,
    path: '/extended/v1/block/{hash}',
    operationId: 'getBlockByHash',
    summary: 'One block by hash',
    description:
      'Returns the block that has a hash, with the ids of its transactions. Orphaned blocks are returned with `canonical: false`.',
    deprecated: { replacement: '/extended/v2/blocks/{hash}' },
    moved: prefixed(4, { shape: ANY_TEXT, withQuery: false }),
    params: { hash: HexHash },
    response: Block,
    notFound: 'Block not found',
    handle: ({ params: { hash }, read }) => requireBlock(read, { hash }, UNKNOWN.hash),
  }),
  route({
    ...single,
    path: '/extended/v1/block/by_height/{height}',
    operationId: 'getBlockByHeight',
    summary: 'One block by height',
    description: 'Returns the canonical block at a height, with the ids of its transactions.',
    deprecated: { replacement: '/extended/v2/blocks/{height}' },
    params: { height: BlockHeight },
    response: Block,
    notFound: 'Block not found',
    handle: ({ params: { height }, read }) => requireBlock(read, { height }, UNKNOWN.height),
  }),
  route({
    ...single,
    path: '/extended/v1/block/by_burn_block_height/{burn_block_height}',
    operationId: 'getBlockByBurnBlockHeight',
    summary: 'Block by Bitcoin height',
    description: 'Returns the highest canonical block that is anchored to the Bitcoin block at a height.',
    deprecated: { replacement: '/extended/v2/burn-blocks/{burn_block_height}/blocks' },
    params: { burn_block_height: BlockHeight },
    response: Block,
    notFound: 'Block not found: no block is anchored to a Bitcoin block at this height',
    handle: ({ params, read }) => requireBlock(read, { burnHeight: params.burn_block_height }, UNKNOWN.height),
  }),
  route({
    ...single,
    path: '/extended/v1/block/by_burn_block_hash/{burn_block_hash}',
    operationId: 'getBlockByBurnBlockHash',
    summary: 'Block by Bitcoin block hash',
    description: 'Returns the highest canonical block that is anchored to the Bitcoin block with a hash.',
    deprecated: { replacement: '/extended/v2/burn-blocks/{burn_block_hash}/blocks' },
    moved: prefixed(5, { shape: ANY_TEXT, withQuery: false }),
    params: { burn_block_hash: HexHash },
    response: Block,
    notFound: 'Block not found: no block is anchored to this Bitcoin block',
    handle: ({ params, read }) => requireBlock(read, { burnHash: params.burn_block_hash }, UNKNOWN.burnHash),
  }),
];

const response = OffsetPage(Transaction);

interface ListQuery {
  limit: number;
  offset: number;
  exclude_function_args?: boolean;
}

/** Serializes transactions of a block; undefined if no fork has the block. */
function transactionsPage(read: Reader, block: BlockSearch, order: ListOrder, query: ListQuery) {
  const { limit, offset, exclude_function_args: withoutArguments } = query;
  const page = read.blocks.transactions(block, order, limit, offset, transactionRows(read, withoutArguments));
  return page === undefined ? undefined : offsetPage(query, page);
}

const ofBlock = {
  tag: 'Transactions (v1)',
  response,
  notFound: 'Block not found',
  etag: anyFork,
  history: 'since',
} as const;

export const blockTransactions = [
  route({
    ...ofBlock,
    path: '/extended/v1/tx/block/{block_hash}',
    operationId: 'getTransactionsByBlockHash',
    summary: 'Transactions of a block by hash',
    description:
      'Returns the transactions of a block, starting with the last one in the block. Orphaned blocks return an empty list.',
    deprecated: { replacement: '/extended/v3/blocks/{block_hash}/transactions' },
    params: { block_hash: HexHash },
    query: { ...legacyOffsetQuery({ maximum: 200, default: 20 }), exclude_function_args: excludeFunctionArgs },
    handle: ({ params: { block_hash }, query, read }) =>
      requireFound(transactionsPage(read, { hash: block_hash }, 'desc', query), 'no block found by hash'),
  }),
  route({
    ...ofBlock,
    path: '/extended/v1/tx/block_height/{height}',
    operationId: 'getTransactionsByBlockHeight',
    summary: 'Transactions of a block by height',
    description:
      'Returns the transactions of the canonical block at a height, starting with the last one in the block.',
    deprecated: { replacement: '/extended/v3/blocks/{height}/transactions' },
    params: { height: BlockHeight },
    query: { ...legacyOffsetQuery({ maximum: 50, default: 20 }), exclude_function_args: excludeFunctionArgs },
    handle: ({ params: { height }, query, read }) =>
      requireFound(transactionsPage(read, { height }, 'desc', query), `no block found at height ${height}`),
  }),
  route({
    path: '/extended/v2/blocks/{height_or_hash}/transactions',
    operationId: 'getBlockTransactionsV2',
    summary: 'Transactions of a block (v2)',
    description: 'Returns the transactions of a block, starting with the first one in the block.',
    tag: 'Blocks (v2)',
    deprecated: { replacement: '/extended/v3/blocks/{height_or_hash}/transactions' },
    params: { height_or_hash: BlockParameter },
    query: offsetQuery({ maximum: 50, default: 20 }),
    response,
    notFound: 'Block not found',
    etag: blockAndAnyFork,
    history: 'since',
    handle: ({ params: { height_or_hash }, query, read }) => {
      const block = read.blocks.find(height_or_hash);
      return requireFound(block && transactionsPage(read, { height: block.height }, 'asc', query), 'Block not found');
    },
  }),
];

const ofMicroblocks = { tag: 'Microblocks (v1)', deprecated: { replacement: null }, etag: chainTip };

/** Microblocks: chain data of Stacks 2.x. Later chains have none. */
export const microblocks = [
  route({
    ...ofMicroblocks,
    path: '/extended/v1/microblock',
    operationId: 'getMicroblockList',
    summary: 'Recent microblocks',
    description: 'Returns the microblocks of the canonical chain, newest first. Only Stacks 2.x had microblocks.',
    query: legacyOffsetQuery({ maximum: 200, default: 20 }),
    response: OffsetPage(Microblock),
    history: 'since',
    handle: ({ query, read }) => offsetPage(query, read.microblocks.page(query.limit, query.offset), microblock),
  }),
  route({
    ...ofMicroblocks,
    path: '/extended/v1/microblock/unanchored/txs',
    operationId: 'getUnanchoredTransactions',
    summary: 'Unconfirmed microblock transactions',
    description: 'Returns an empty list: it once had the transactions of unconfirmed microblocks (Stacks 2.x).',
    response: listOf(named('WholeList', { total: Type.Integer() }), Transaction),
    history: 'since',
    handle: () => ({ total: 0, results: [] }),
  }),
  route({
    ...ofMicroblocks,
    path: '/extended/v1/microblock/{hash}',
    operationId: 'getMicroblockByHash',
    summary: 'One microblock',
    description: 'Returns the microblock that has a hash. Only Stacks 2.x had microblocks.',
    moved: prefixed(4, { shape: ANY_TEXT, withQuery: false }),
    params: { hash: HexHash },
    response: Microblock,
    notFound: 'Microblock not found',
    history: 'thing',
    handle: ({ params: { hash }, read }) =>
      microblock(requireFound(read.microblocks.find(hash), 'cannot find microblock by hash')),
  }),
];
