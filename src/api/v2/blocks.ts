/** Blocks of v2, Bitcoin blocks, and the mean times between blocks. */
import { Type } from '@sinclair/typebox';
import { fromHex, toHex } from '../../codec/hex.ts';
import { requireFound } from '../../http/errors.ts';
import { blockAt, block as blockTag, chainTip } from '../../http/etag.ts';
import { refuseIfPartial } from '../../http/history.ts';
import { MaybeSerialized } from '../../http/json.ts';
import {
  FlatPage,
  flatList,
  flatQuery,
  type ItemName,
  NO_CURSOR,
  OffsetPage,
  offsetPage,
  offsetQuery,
} from '../../http/pagination.ts';
import { type Route, route } from '../../http/route.ts';
import type { AnchorBurnBlock } from '../../store/model/block.ts';
import { ChainBlock, chainBlock, chainBlockRows } from '../shared/block.ts';
import { example } from '../shared/examples/examples.ts';
import { Hash, Height, Hex, IsoTime, isoTime, object, UnixTime } from '../shared/fields.ts';
import { BlockParameter, BurnBlockParameter } from '../shared/parameters.ts';

const seconds = Type.Number({ minimum: 0 });

const hundredths = (seconds: number): number => Math.round(seconds * 100) / 100;

/** Mean seconds between blocks over the last hour, day, 7 and 30 days, rounded to hundredths. */
const [AverageTimes, averageTimes] = object<readonly number[]>('AverageBlockTimes')({
  last_1h: [seconds, ([hour = 0]) => hundredths(hour)],
  last_24h: [seconds, ([, day = 0]) => hundredths(day)],
  last_7d: [seconds, ([, , week = 0]) => hundredths(week)],
  last_30d: [seconds, ([, , , month = 0]) => hundredths(month)],
});

const [BurnBlock, burnBlock] = object<AnchorBurnBlock>('BurnBlock')({
  burn_block_time: [UnixTime, ({ time }) => time],
  burn_block_time_iso: [IsoTime, ({ time }) => isoTime(time)],
  burn_block_hash: [Hash, ({ hash }) => toHex(hash)],
  burn_block_height: [Height, ({ height }) => height],
  stacks_blocks: [
    Type.Array(Hash, { description: 'Hashes of the blocks anchored to the Bitcoin block, highest first' }),
    ({ blocks }) => blocks.map(toHex),
  ],
  avg_block_time: [
    Type.Integer({ description: 'Mean number of seconds between these blocks; 0 if there is only one' }),
    ({ averageBlockTime }) => Math.trunc(hundredths(averageBlockTime)),
  ],
  total_tx_count: [
    Type.Integer({ minimum: 0, description: 'Number of transactions in these blocks' }),
    ({ transactions }) => transactions,
  ],
});

const tag = 'Blocks';
const UNKNOWN = 'Block not found';
const NO_EARLIER_BLOCK = 'No block found at or before the given timestamp';

const blockName: ItemName<Uint8Array> = {
  pattern: '0x[a-fA-F0-9]{64}',
  description: 'the index block hash of a block',
  read: fromHex,
};

const SignerSignature = { ...Hex, $id: 'SignerSignature' };

const listQuery = flatQuery({ maximum: 30, reach: 300, item: blockName });

const HOUR = 3600;
const DAY = 24 * HOUR;
const WINDOWS = [HOUR, DAY, 7 * DAY, 30 * DAY];

const listFamily = { tag, query: listQuery, response: FlatPage(ChainBlock), etag: chainTip, history: 'since' } as const;
const single = {
  tag,
  params: { height_or_hash: BlockParameter },
  notFound: UNKNOWN,
  etag: blockTag,
  history: 'thing',
} as const;

/** @param now the clock, in Unix milliseconds */
export const blocks = (now: () => number): Route[] => [
  route({
    ...listFamily,
    path: '/extended/v2/blocks',
    operationId: 'getBlocks',
    summary: 'Recent blocks (v2)',
    description:
      'Returns the blocks of the canonical chain, highest first. `next_cursor` leads to newer blocks, `prev_cursor` to older ones.',
    notFound: NO_CURSOR,
    handle: ({ query, read }) => {
      const list = flatList('blocks', blockName, query);
      return list.page(read.blocks.page(...list.start, chainBlockRows));
    },
  }),
  route({
    path: '/extended/v2/blocks/average-times',
    operationId: 'getAverageBlockTimes',
    summary: 'Average block times',
    description: 'Returns the mean number of seconds between blocks over the last hour, day, week and month.',
    tag,
    response: AverageTimes,
    // The windows move with the clock.
    etag: null,
    history: 'since',
    handle: ({ read }) => {
      const seconds = Math.floor(now() / 1000);
      return averageTimes(read.blocks.averageTimes(WINDOWS.map((window) => seconds - window)));
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
    notFound: NO_EARLIER_BLOCK,
    etag: blockAt,
    history: 'thing',
    handle: ({ params: { timestamp }, read }) => chainBlock(requireFound(read.blocks.at(timestamp), NO_EARLIER_BLOCK)),
  }),
  route({
    ...single,
    path: '/extended/v2/blocks/{height_or_hash}',
    operationId: 'getBlock',
    summary: 'One block',
    description: 'Returns one block of the canonical chain by its height or hash, or the newest one for `latest`.',
    response: MaybeSerialized(ChainBlock),
    handle: ({ params: { height_or_hash }, read }) =>
      requireFound(read.blocks.find(height_or_hash, chainBlockRows), UNKNOWN),
  }),
  route({
    ...single,
    path: '/extended/v2/blocks/{height_or_hash}/signer-signatures',
    operationId: 'getBlockSignerSignatures',
    summary: 'Signer signatures of a block',
    description:
      'Returns the signatures of the signers of a block, in the order of the block header. Blocks before Nakamoto have none.',
    query: offsetQuery({ maximum: 1000, default: 500 }),
    response: OffsetPage(SignerSignature),
    handle: ({ params: { height_or_hash }, query, read }) =>
      offsetPage(
        query,
        requireFound(read.blocks.signatures(height_or_hash, query.limit, query.offset), UNKNOWN),
        toHex,
      ),
  }),
  route({
    ...listFamily,
    path: '/extended/v2/block-tenures/{tenure_height}/blocks',
    operationId: 'getTenureBlocks',
    summary: 'Blocks of a tenure',
    description:
      'Returns the canonical blocks of a tenure, highest first. `next_cursor` leads to newer blocks, `prev_cursor` to older ones.',
    params: {
      tenure_height: Type.Integer({
        minimum: 0,
        description: 'Height of the tenure: the number of tenures up to it',
        examples: example('tenure_height'),
      }),
    },
    notFound: 'Tenure not found: only on a server with a partial history; or cursor not found',
    handle: ({ params: { tenure_height }, query, read }) => {
      const list = flatList(`tenure-blocks ${tenure_height}`, blockName, query);
      const page = read.blocks.ofTenure(tenure_height, ...list.start, chainBlockRows);
      if (page?.total === 0) refuseIfPartial(read, 'Tenure not found');
      return list.page(page);
    },
  }),
];

const burnFamily = { tag: 'Burn blocks', etag: chainTip };
const UNKNOWN_BURN_BLOCK = 'Burn block not found';

const burnBlocksQuery = offsetQuery({ maximum: 30, default: 20 });

export const burnBlocks = [
  route({
    ...burnFamily,
    path: '/extended/v2/burn-blocks',
    operationId: 'getBurnBlocks',
    summary: 'Recent Bitcoin blocks',
    description: 'Returns the Bitcoin blocks that anchor blocks of the canonical chain, highest first.',
    query: burnBlocksQuery,
    response: OffsetPage(BurnBlock),
    history: 'since',
    handle: ({ query, read }) => offsetPage(query, read.burnBlocks.page(query.limit, query.offset), burnBlock),
  }),
  route({
    ...burnFamily,
    path: '/extended/v2/burn-blocks/{height_or_hash}',
    operationId: 'getBurnBlock',
    summary: 'One Bitcoin block',
    description:
      'Returns one Bitcoin block that anchors blocks of the canonical chain. Other Bitcoin blocks are not found.',
    params: { height_or_hash: BurnBlockParameter },
    response: BurnBlock,
    notFound: UNKNOWN_BURN_BLOCK,
    history: 'thing',
    handle: ({ params: { height_or_hash }, read }) =>
      burnBlock(requireFound(read.burnBlocks.find(height_or_hash), UNKNOWN_BURN_BLOCK)),
  }),
  route({
    ...burnFamily,
    path: '/extended/v2/burn-blocks/{height_or_hash}/blocks',
    operationId: 'getBurnBlockBlocks',
    summary: 'Blocks of a Bitcoin block',
    description: 'Returns the blocks of the canonical chain that are anchored to a Bitcoin block, highest first.',
    params: { height_or_hash: BurnBlockParameter },
    query: burnBlocksQuery,
    response: OffsetPage(ChainBlock),
    notFound: UNKNOWN_BURN_BLOCK,
    history: 'since',
    handle: ({ params: { height_or_hash }, query, read }) =>
      offsetPage(
        query,
        requireFound(read.burnBlocks.blocks(height_or_hash, query.limit, query.offset), UNKNOWN_BURN_BLOCK),
        chainBlock,
      ),
  }),
];
