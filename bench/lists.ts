/** Measures the first, middle and last page of lists in chains of several lengths. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { devnetIndex, SEED } from './dataset.ts';
import { onCore, run, script, statusOf, TREE } from './harness.ts';
import type { TimedList } from './parts/page-times.ts';
import { type Cell, figure, publish, reportOptions, spread } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    /** Approximate numbers of transactions. Ratios are to the smallest chain. */
    sizes: { type: 'string', default: '10000,100000' },
    repeat: { type: 'string', default: '5' },
    /** Reads of a page per round. */
    repetitions: { type: 'string', default: '200' },
    limit: { type: 'string', default: '50' },
  },
});
const limit = Number(values.limit);
const sizes = values.sizes
  .split(',')
  .map(Number)
  .sort((a, b) => a - b);

const directories: string[] = [];
for (const size of sizes) directories.push(await devnetIndex(size));
const parts = join(TREE, 'bench', 'parts', 'page-times.ts');
const command = script(parts, values.repeat, values.repetitions, values.limit, ...directories);
const timed: TimedList[][] = JSON.parse((await run(onCore(0, command))).stdout);
const statuses = await Promise.all(directories.map(statusOf));

const rows = timed[0]!.flatMap(({ name }, n) => {
  const lists = timed.map((lists) => lists[n]!);
  /** The smallest chain whose first page is full. */
  const base = lists.findIndex(({ items }) => items >= limit);
  return lists.map(({ items, places }, size) => {
    const times = [0, 1, 2].map((place) => places[place]?.microseconds);
    const ratio = (times: number[]): Cell => {
      const baseTimes = lists[base]!.places[0]!.microseconds;
      // By round, because a busy machine slows down both.
      return figure([spread(times.map((time, round) => time / baseTimes[round]!)).median], 2);
    };
    return [
      size === 0 ? name : '',
      figure([statuses[size]!.transactions]),
      figure([items]),
      ...times.map((time) => (time === undefined ? '' : figure(time))),
      ...times.map((time) => (time === undefined || items < limit ? '' : ratio(time))),
    ];
  });
});

publish([
  {
    title: 'Pages',
    notes: [
      `data: simulated chains of seed ${SEED}; pages of ${values.limit} items`,
      `${values.repeat} rounds, in each the median of ${values.repetitions} reads of a page; median of the rounds (least to greatest)`,
    ],
    tables: [
      {
        head: ['chain', 'blocks', 'index, MB', 'bytes per transaction'],
        rows: statuses.map(({ transactions, tip, index_bytes: bytes }) => [
          figure([transactions]),
          figure([tip?.height ?? 0]),
          figure([bytes / 1e6]),
          figure([bytes / transactions]),
        ]),
      },
      {
        head: [
          'list',
          'chain',
          'items',
          'first, µs',
          'middle, µs',
          'last, µs',
          'first, ratio',
          'middle, ratio',
          'last, ratio',
        ],
        rows,
      },
    ],
  },
]);
