/** Blocks of v1: with the ids of what they hold, and of any fork where nothing canonical answers. */

import { notFound } from '../../http/errors.ts';
import { anyFork, chainTip } from '../../http/etag.ts';
import { ANY_TEXT, prefixed } from '../../http/hex-prefix.ts';
import { legacyOffsetQuery, OffsetPage, offsetPage } from '../../http/offset-pagination.ts';
import { route } from '../../http/route.ts';
import type { BlockSearch } from '../../store/model/block.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { Block, block } from '../shared/block.ts';
import { BlockHeight, HexHash } from '../shared/legacy-parameters.ts';

const tag = 'Blocks (v1)';

async function one(read: Reader, search: BlockSearch, unknown: string) {
  const found = await read.blocks.whole(search);
  if (found === undefined) throw notFound(unknown);
  return block(found, 'ascending');
}

const UNKNOWN = {
  hash: 'cannot find block by hash',
  height: 'cannot find block by height',
  burnHash: 'cannot find block by burn block hash',
};

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
    long: true,
    handle: async ({ query, read }) =>
      offsetPage(query, await read.blocks.wholePage(query.limit, query.offset), (of) => block(of, 'descending')),
  }),
  route({
    path: '/extended/v1/block/{hash}',
    operationId: 'getBlockByHash',
    summary: 'One block by hash',
    description:
      'Returns the block that has a hash, with the ids of its transactions. Orphaned blocks are returned with `canonical: false`.',
    tag,
    deprecated: { replacement: '/extended/v2/blocks/{hash}' },
    moved: prefixed(4, { shape: ANY_TEXT, keepQuery: false }),
    params: { hash: HexHash },
    response: Block,
    notFound: 'Block not found',
    etag: anyFork,
    handle: ({ params: { hash }, read }) => one(read, { hash }, UNKNOWN.hash),
  }),
  route({
    path: '/extended/v1/block/by_height/{height}',
    operationId: 'getBlockByHeight',
    summary: 'One block by height',
    description: 'Returns the canonical block at a height, with the ids of its transactions.',
    tag,
    deprecated: { replacement: '/extended/v2/blocks/{height}' },
    params: { height: BlockHeight },
    response: Block,
    notFound: 'Block not found',
    etag: anyFork,
    handle: ({ params: { height }, read }) => one(read, { height }, UNKNOWN.height),
  }),
  route({
    path: '/extended/v1/block/by_burn_block_height/{burn_block_height}',
    operationId: 'getBlockByBurnBlockHeight',
    summary: 'Block by Bitcoin height',
    description: 'Returns the highest canonical block that is anchored to the Bitcoin block at a height.',
    tag,
    deprecated: { replacement: '/extended/v2/burn-blocks/{burn_block_height}/blocks' },
    params: { burn_block_height: BlockHeight },
    response: Block,
    notFound: 'Block not found: none is anchored to a Bitcoin block at this height',
    etag: anyFork,
    handle: ({ params, read }) => one(read, { burnHeight: params.burn_block_height }, UNKNOWN.height),
  }),
  route({
    path: '/extended/v1/block/by_burn_block_hash/{burn_block_hash}',
    operationId: 'getBlockByBurnBlockHash',
    summary: 'Block by Bitcoin block hash',
    description: 'Returns the highest canonical block that is anchored to the Bitcoin block with a hash.',
    tag,
    deprecated: { replacement: '/extended/v2/burn-blocks/{burn_block_hash}/blocks' },
    moved: prefixed(5, { shape: ANY_TEXT, keepQuery: false }),
    params: { burn_block_hash: HexHash },
    response: Block,
    notFound: 'Block not found: none is anchored to this Bitcoin block',
    etag: anyFork,
    handle: ({ params, read }) => one(read, { burnHash: params.burn_block_hash }, UNKNOWN.burnHash),
  }),
];
