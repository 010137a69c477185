import { notFound } from '../../http/errors.ts';
import { chainTip } from '../../http/etag.ts';
import { OffsetPage, offsetPage, offsetQuery } from '../../http/offset-pagination.ts';
import { route } from '../../http/route.ts';
import { ChainBlock, chainBlock } from '../shared/block.ts';
import { BurnBlockParameter } from '../shared/parameters.ts';
import { BurnBlock } from './schemas/block.ts';
import { burnBlock } from './serialize/block.ts';

const tag = 'Burn blocks';
const UNKNOWN = 'Burn block not found';

const listQuery = offsetQuery({ maximum: 30, default: 20 });

export const burnBlocks = [
  route({
    path: '/extended/v2/burn-blocks',
    operationId: 'getBurnBlocks',
    summary: 'Recent Bitcoin blocks',
    description: 'Returns the Bitcoin blocks to which blocks of the canonical chain are anchored, highest first.',
    tag,
    query: listQuery,
    response: OffsetPage(BurnBlock),
    etag: chainTip,
    handle: async ({ query, read }) => {
      return offsetPage(query, await read.burnBlocks.page(query.limit, query.offset), burnBlock);
    },
  }),
  route({
    path: '/extended/v2/burn-blocks/{height_or_hash}',
    operationId: 'getBurnBlock',
    summary: 'One Bitcoin block',
    description:
      'Returns one Bitcoin block to which blocks of the canonical chain are anchored. A Bitcoin block without any is not found.',
    tag,
    params: { height_or_hash: BurnBlockParameter },
    response: BurnBlock,
    notFound: UNKNOWN,
    etag: chainTip,
    handle: async ({ params: { height_or_hash }, read }) => {
      const found = await read.burnBlocks.find(height_or_hash);
      if (found === undefined) throw notFound(UNKNOWN);
      return burnBlock(found);
    },
  }),
  route({
    path: '/extended/v2/burn-blocks/{height_or_hash}/blocks',
    operationId: 'getBurnBlockBlocks',
    summary: 'Blocks of a Bitcoin block',
    description: 'Returns the blocks of the canonical chain that are anchored to a Bitcoin block, highest first.',
    tag,
    params: { height_or_hash: BurnBlockParameter },
    query: listQuery,
    response: OffsetPage(ChainBlock),
    notFound: UNKNOWN,
    etag: chainTip,
    handle: async ({ params: { height_or_hash }, query, read }) => {
      const page = await read.burnBlocks.blocks(height_or_hash, query.limit, query.offset);
      if (page === undefined) throw notFound(UNKNOWN);
      return offsetPage(query, page, chainBlock);
    },
  }),
];
