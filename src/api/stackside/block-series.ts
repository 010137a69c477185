/** Block statistics for charts: the chain's last hour, and its last days. Stackside's own routes. */
import { Type } from '@sinclair/typebox';
import { chainTip } from '../../http/etag.ts';
import { route } from '../../http/route.ts';
import { Height, UnixTime } from '../shared/values.ts';

const HOUR = 3_600;
/** Blocks in an hour at one block every five seconds, the fastest rate of mainnet. */
const MAX_BLOCKS = 720;
const DAYS = 30;

export const blockSeries = [
  route({
    path: '/stackside/v1/blocks/last-hour',
    operationId: 'getBlocksOfLastHour',
    summary: 'Blocks of the last hour',
    description: `Returns time and size of the blocks in the hour before the tip, oldest first. If there are more than ${MAX_BLOCKS}, it returns the newest ones.`,
    tag: 'Stackside',
    response: Type.Object(
      {
        blocks: Type.Array(Type.Object({ height: Height, time: UnixTime, transactions: Type.Integer() })),
      },
      { $id: 'BlocksOfLastHour' },
    ),
    etag: chainTip,
    history: 'since',
    handle: ({ read }) => ({ blocks: read.blockSeries.newest(HOUR, MAX_BLOCKS) }),
  }),
  route({
    path: '/stackside/v1/blocks/days',
    operationId: 'getBlocksByDay',
    summary: 'Blocks and transactions by day',
    description: `Returns the number of blocks and transactions of each of the ${DAYS} days up to the tip, in UTC, oldest first. Days with missing blocks are left out.`,
    tag: 'Stackside',
    response: Type.Object(
      {
        days: Type.Array(
          Type.Object({
            start: Type.Integer({ description: 'Beginning of the day in Unix seconds' }),
            blocks: Type.Integer(),
            transactions: Type.Integer(),
          }),
        ),
      },
      { $id: 'BlocksByDay' },
    ),
    etag: chainTip,
    history: 'since',
    handle: ({ read }) => {
      const [days, from] = [read.blockSeries.days(DAYS), read.chain.historyFrom()];
      const first = from === null ? undefined : read.blocks.find({ height: from });
      // The index lacks blocks of the day in which it began, and of earlier days.
      return { days: first === undefined ? days : days.filter(({ start }) => start > first.time) };
    },
  }),
];
