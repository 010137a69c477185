/** Blocks for pictures of the chain: the newest ones, and their number by hour and by day. Stackside's own routes. */
import { Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { anyFork, chainTip } from '../../http/etag.ts';
import { route } from '../../http/route.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import { Amount, Hash, Height, named, nullable, object, UnixTime } from '../shared/fields.ts';

/** The spans that blocks are counted by: their seconds, and how many a response has. */
const SPANS = { hour: { seconds: 3_600, count: 24 }, day: { seconds: 86_400, count: 30 } } as const;
const [MAX_NEWEST, DEFAULT_NEWEST] = [50, 20];

type Newest = ReturnType<Reader['blockSeries']['newest']>;

/** @param fees in ascending order */
const medianOf = (fees: readonly number[]) => (fees.length === 0 ? null : String(fees[fees.length >> 1]));

const [PicturedBlock, picturedBlock] = object<Newest['blocks'][number]>('PicturedBlock')({
  height: [Height, ({ height }) => height],
  hash: [Hash, ({ hash }) => toHex(hash)],
  index_block_hash: [Hash, ({ indexHash }) => toHex(indexHash)],
  time: [UnixTime, ({ time }) => time],
  burn_block_height: [Height, ({ burnHeight }) => burnHeight],
  tenure_height: [
    nullable(Type.Integer({ description: 'Null if the node did not report it' })),
    ({ tenure }) => tenure,
  ],
  transactions: [Type.Integer(), ({ transactions }) => transactions],
  size: [Type.Integer({ description: 'Bytes of the transactions' }), ({ size }) => size],
  median_fee: [
    nullable(Amount, {
      description: 'Median fee of up to 15 transactions that are spread evenly over the block; null if none pays one',
    }),
    ({ fees }) => medianOf(fees),
  ],
});

const [PicturedOrphan, picturedOrphan] = object<Newest['orphans'][number]>()({
  height: [Height, ({ height }) => height],
  index_block_hash: [Hash, ({ indexHash }) => toHex(indexHash)],
  parent_index_block_hash: [Hash, ({ parentIndexHash }) => toHex(parentIndexHash)],
  burn_block_height: [Height, ({ burnHeight }) => burnHeight],
});

const [NewestBlocks, newestBlocks] = object<Newest>('NewestBlocks')({
  blocks: [Type.Array(PicturedBlock), ({ blocks }) => blocks.map(picturedBlock)],
  orphans: [Type.Array(PicturedOrphan), ({ orphans }) => orphans.map(picturedOrphan)],
});

export const blockSeries = [
  route({
    path: '/stackside/v1/blocks/newest',
    operationId: 'getNewestBlocks',
    summary: 'Newest blocks with their fees and forks',
    description:
      'Returns the newest blocks, highest first, with the size and the median fee of their transactions, and the orphaned blocks at these heights and above.',
    tag: 'Stackside',
    query: {
      limit: Type.Integer({
        minimum: 1,
        maximum: MAX_NEWEST,
        default: DEFAULT_NEWEST,
        description: 'Maximum number of blocks, and of orphaned blocks',
      }),
    },
    response: NewestBlocks,
    etag: anyFork,
    history: 'since',
    handle: ({ query: { limit }, read }) => newestBlocks(read.blockSeries.newest(limit)),
  }),
  route({
    path: '/stackside/v1/blocks/counts',
    operationId: 'getBlockCounts',
    summary: 'Blocks and transactions by hour or day',
    description: `Returns the number of blocks and transactions of each of the ${SPANS.hour.count} hours or ${SPANS.day.count} days up to the tip, in UTC, oldest first. Hours and days with missing blocks are left out.`,
    tag: 'Stackside',
    query: {
      by: Type.Union([Type.Literal('hour'), Type.Literal('day')], {
        default: 'day',
        description: 'The span of time to count by',
      }),
    },
    response: named('BlockCounts', {
      counts: Type.Array(
        Type.Object({
          start: Type.Integer({ description: 'Beginning of the hour or day in Unix seconds' }),
          blocks: Type.Integer(),
          transactions: Type.Integer(),
        }),
      ),
    }),
    etag: chainTip,
    history: 'since',
    handle: ({ query: { by }, read }) => {
      const { seconds, count } = SPANS[by];
      const [counts, from] = [read.blockSeries.counts(seconds, count), read.chain.historyFrom()];
      const first = from === null ? undefined : read.blocks.find({ height: from });
      // The index lacks blocks of the span in which it began, and of earlier ones.
      return { counts: first === undefined ? counts : counts.filter(({ start }) => start > first.time) };
    },
  }),
];
