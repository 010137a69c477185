import { Type } from '@sinclair/typebox';
import { fromHex, toHex } from '../../codec/hex.ts';
import { notFound } from '../../http/errors.ts';
import { blockAt, block as blockTag, chainTip } from '../../http/etag.ts';
import { FlatPage, flatPage, flatQuery, flatStart, type ItemName, NO_CURSOR } from '../../http/flat-pagination.ts';
import { OffsetPage, offsetPage, offsetQuery } from '../../http/offset-pagination.ts';
import { type Route, route } from '../../http/route.ts';
import { ChainBlock, chainBlock } from '../shared/block.ts';
import { example } from '../shared/examples/examples.ts';
import { BlockParameter } from '../shared/parameters.ts';
import { Hex } from '../shared/values.ts';
import { AverageTimes } from './schemas/block.ts';
import { averageTimes } from './serialize/block.ts';

const tag = 'Blocks';
const BLOCKS = 'blocks';
const UNKNOWN = 'Block not found';
const NONE_BEFORE = 'No block found at or before the given timestamp';

const blockName: ItemName<Uint8Array> = {
  pattern: '0x[a-fA-F0-9]{64}',
  description: 'the index block hash of a block',
  read: fromHex,
};

const SignerSignature = { ...Hex, $id: 'SignerSignature' };

const listQuery = flatQuery({ maximum: 30, default: 20, reach: 300, item: blockName });

const HOUR = 3600;
const DAY = 24 * HOUR;
const WINDOWS = [HOUR, DAY, 7 * DAY, 30 * DAY];

/** @param now the clock, in Unix milliseconds */
export const blocks = (now: () => number): Route[] => [
  route({
    path: '/extended/v2/blocks',
    operationId: 'getBlocks',
    summary: 'Recent blocks (v2)',
    description:
      'Returns the blocks of the canonical chain, highest first. `next_cursor` leads to newer blocks, `prev_cursor` to older ones.',
    tag,
    query: listQuery,
    response: FlatPage(ChainBlock),
    notFound: NO_CURSOR,
    etag: chainTip,
    handle: async ({ query, read }) => {
      const page = await read.blocks.page(query.limit, flatStart(BLOCKS, blockName, query));
      return flatPage(BLOCKS, query, page, chainBlock);
    },
  }),
  route({
    path: '/extended/v2/blocks/average-times',
    operationId: 'getAverageBlockTimes',
    summary: 'Average block times',
    description: 'Returns the mean number of seconds between blocks over the last hour, day, week and month.',
    tag,
    response: AverageTimes,
    // A window moves on with the clock.
    etag: null,
    handle: async ({ read }) => {
      const seconds = Math.floor(now() / 1000);
      return averageTimes(await read.blocks.averageTimes(WINDOWS.map((window) => seconds - window)));
    },
  }),
  route({
    path: '/extended/v2/blocks/by-block-time/{timestamp}',
    operationId: 'getBlockByTime',
    summary: 'Block at a time',
    description: 'Returns the newest block of the canonical chain at or before a time.',
    tag,
    params: {
      timestamp: Type.Integer({ minimum: 0, description: 'Time in Unix seconds', examples: example('block_time') }),
    },
    response: ChainBlock,
    notFound: NONE_BEFORE,
    etag: blockAt,
    handle: async ({ params: { timestamp }, read }) => {
      const found = await read.blocks.at(timestamp);
      if (found === undefined) throw notFound(NONE_BEFORE);
      return chainBlock(found);
    },
  }),
  route({
    path: '/extended/v2/blocks/{height_or_hash}',
    operationId: 'getBlock',
    summary: 'One block',
    description: 'Returns one block of the canonical chain by its height or hash, or the newest one for `latest`.',
    tag,
    params: { height_or_hash: BlockParameter },
    response: ChainBlock,
    notFound: UNKNOWN,
    etag: blockTag,
    handle: async ({ params: { height_or_hash }, read }) => {
      const found = await read.blocks.find(height_or_hash);
      if (found === undefined) throw notFound(UNKNOWN);
      return chainBlock(found);
    },
  }),
  route({
    path: '/extended/v2/blocks/{height_or_hash}/signer-signatures',
    operationId: 'getBlockSignerSignatures',
    summary: 'Signer signatures of a block',
    description:
      'Returns the signatures of the signers of a block, in the order of the block header. Blocks before Nakamoto have none.',
    tag,
    params: { height_or_hash: BlockParameter },
    query: offsetQuery({ maximum: 1000, default: 500 }),
    response: OffsetPage(SignerSignature),
    notFound: UNKNOWN,
    etag: blockTag,
    handle: async ({ params: { height_or_hash }, query, read }) => {
      const page = await read.blocks.signatures(height_or_hash, query.limit, query.offset);
      if (page === undefined) throw notFound(UNKNOWN);
      return offsetPage(query, page, toHex);
    },
  }),
  route({
    path: '/extended/v2/block-tenures/{tenure_height}/blocks',
    operationId: 'getTenureBlocks',
    summary: 'Blocks of a tenure',
    description:
      'Returns the canonical blocks of a tenure, highest first. `next_cursor` leads to newer blocks, `prev_cursor` to older ones.',
    tag,
    params: {
      tenure_height: Type.Integer({
        minimum: 0,
        description: 'Height of the tenure: the number of tenures up to it',
        examples: example('tenure_height'),
      }),
    },
    query: listQuery,
    response: FlatPage(ChainBlock),
    notFound: NO_CURSOR,
    etag: chainTip,
    handle: async ({ params: { tenure_height }, query, read }) => {
      const list = `tenure-blocks ${tenure_height}`;
      const page = await read.blocks.ofTenure(tenure_height, query.limit, flatStart(list, blockName, query));
      return flatPage(list, query, page, chainBlock);
    },
  }),
];
