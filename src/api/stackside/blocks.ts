/**
 * Blocks for pictures of the chain: the newest ones, and their number by hour and by day. Forks: the branches of orphaned blocks,
 * and the later state of their transactions. Stackside's own routes.
 */
import { Type } from '@sinclair/typebox';
import { toHex } from '../../codec/hex.ts';
import { requireFound } from '../../http/errors.ts';
import { anyFork, chainTip, mempoolAndAnyFork } from '../../http/etag.ts';
import { cursorList, cursorQuery, UncountedCursorPage } from '../../http/pagination.ts';
import { route } from '../../http/route.ts';
import type {
  Fork as StoredFork,
  ForkBlock as StoredForkBlock,
  ForkDetail as StoredForkDetail,
} from '../../store/model/block.ts';
import type { Reader } from '../../store/read/index-reader.ts';
import {
  Amount,
  describedHex,
  fields,
  Hash,
  Height,
  named,
  nullable,
  object,
  UnixTime,
  words,
} from '../shared/fields.ts';
import { HexHash } from '../shared/parameters.ts';

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

const WasCanonical = nullable(Type.Boolean(), {
  description: 'Whether it was on the canonical chain at some time; null if unknown',
});

const fork = fields<StoredFork>()({
  index_block_hash: [
    describedHex('Index block hash of the first block of the fork'),
    ({ indexHash }) => toHex(indexHash),
  ],
  height: [Type.Integer({ minimum: 1, description: 'Height of its first block' }), ({ height }) => height],
  parent_index_block_hash: [
    describedHex('Index block hash of the newest block on both branches'),
    ({ parentIndexHash }) => toHex(parentIndexHash),
  ],
  top_height: [Type.Integer({ minimum: 1, description: 'Height of its highest block' }), ({ topHeight }) => topHeight],
  blocks: [Type.Integer({ description: 'Number of its blocks, counted up to 100' }), ({ blocks }) => blocks],
  was_canonical: [WasCanonical, ({ wasCanonical }) => wasCanonical],
  time: [
    nullable(UnixTime, { description: 'Time of the canonical block in the place of the first one, in Unix seconds' }),
    ({ time }) => time,
  ],
});
const [Fork, forkOf] = object<StoredFork>('Fork')(fork);

const [ForkBlock, forkBlock] = object<StoredForkBlock>('ForkBlock')({
  height: [Height, ({ height }) => height],
  index_block_hash: [Hash, ({ indexHash }) => toHex(indexHash)],
  hash: [Hash, ({ hash }) => toHex(hash)],
  burn_block_height: [Height, ({ burnHeight }) => burnHeight],
  was_canonical: [WasCanonical, ({ wasCanonical }) => wasCanonical],
});

const [OrphanedTransaction, orphanedTransaction] = object<StoredForkDetail['transactions'][number]>()({
  tx_id: [Hash, ({ txId }) => toHex(txId)],
  type: [Type.String(), ({ type }) => type],
  orphaned_in: [
    Type.Object({ height: Height, index_block_hash: Hash }),
    ({ orphan }) => ({ height: orphan.height, index_block_hash: toHex(orphan.indexHash) }),
  ],
  fate: [
    {
      ...words('mined', 'pending', 'dropped', 'lost'),
      description:
        'Present state: in a canonical block, in the mempool again, dropped from the mempool, or in neither, such as the transactions that miners create for a block',
    },
    ({ fate }) => fate,
  ],
  block_height: [
    nullable(Height, { description: 'Height of the canonical block that has it' }),
    ({ height }) => height,
  ],
  status: [nullable(Type.String(), { description: 'Status in the mempool' }), ({ status }) => status],
});

const [ForkDetail, forkDetail] = object<StoredForkDetail>('ForkDetail')({
  ...fork,
  orphaned: [
    Type.Array(ForkBlock, { description: 'The blocks of the fork by height, 100 at most' }),
    ({ orphans }) => orphans.map(forkBlock),
  ],
  canonical: [
    Type.Array(ForkBlock, { description: 'The canonical blocks at the same heights, and the next one' }),
    ({ canonical }) => canonical.map(forkBlock),
  ],
  transactions: [
    Type.Array(OrphanedTransaction, { description: 'The transactions of the orphaned blocks, 500 at most' }),
    ({ transactions }) => transactions.map(orphanedTransaction),
  ],
  is_whole: [
    Type.Boolean({ description: 'Whether all blocks and transactions of the fork are returned' }),
    ({ isWhole }) => isWhole,
  ],
});

const NO_FORK = 'Fork not found: no orphaned block has this hash';

export const blocksAndForks = [
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
  route({
    path: '/stackside/v1/forks',
    operationId: 'getForks',
    summary: 'Forks',
    description:
      'Returns the branches of orphaned blocks that this server saw, the highest first. A page may have fewer results than `limit`, or none, even if there is a next page.',
    tag: 'Stackside',
    query: {
      ...cursorQuery,
      to_height: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: Number.MAX_SAFE_INTEGER,
          description: 'Lists only forks that start at this height or below',
          examples: [100],
        }),
      ),
    },
    response: UncountedCursorPage(Fork),
    etag: anyFork,
    history: 'since',
    long: true,
    handle: async ({ query, read }) => {
      const list = cursorList('forks', query);
      return list.page(await read.forks.page(query.to_height ?? Number.MAX_SAFE_INTEGER, ...list.start), forkOf);
    },
  }),
  route({
    path: '/stackside/v1/forks/{hash}',
    operationId: 'getFork',
    summary: 'Fork of an orphaned block',
    description:
      'Returns the branch of an orphaned block next to the canonical branch, and the present state of its transactions, block by block.',
    tag: 'Stackside',
    params: { hash: HexHash },
    response: ForkDetail,
    notFound: NO_FORK,
    etag: mempoolAndAnyFork,
    history: 'thing',
    handle: ({ params: { hash }, read }) => forkDetail(requireFound(read.forks.find(hash), NO_FORK)),
  }),
];
