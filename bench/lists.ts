/** What a page of a list costs, by where it is in the list and how long that is. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { directoryStatus } from '../src/store/files/status.ts';
import { devnetIndex, SEED } from './dataset.ts';
import { heading, onCore, ROOT, run, say, script, shown, spread, table } from './harness.ts';
import type { TimedList } from './parts/page-times.ts';

const { values } = parseArgs({
  options: {
    /** Transactions of the chains, about; the ratios are to the smallest one's. */
    sizes: { type: 'string', default: '10000,100000' },
    repeat: { type: 'string', default: '5' },
    /** How often a page is read in a round. */
    repetitions: { type: 'string', default: '200' },
    limit: { type: 'string', default: '50' },
  },
});
const repeat = Number(values.repeat);
const limit = Number(values.limit);
const sizes = values.sizes
  .split(',')
  .map(Number)
  .sort((a, b) => a - b);

const directories: string[] = [];
for (const size of sizes) directories.push(await devnetIndex(size));
const parts = join(ROOT, 'bench', 'parts', 'page-times.ts');
const command = script(parts, values.repeat, values.repetitions, values.limit, ...directories);
const timed: TimedList[][] = JSON.parse((await run(onCore(0, command))).stdout);
const statuses = directories.map(directoryStatus);

heading('Pages');
say(`- data: simulated chains of seed ${SEED}; pages of ${values.limit} items`);
say(`- ${repeat} rounds, the median of ${values.repetitions} times a page in each; median of the rounds (least to`);
say('  greatest)');
say();
table(
  ['chain', 'blocks', 'index, MB', 'bytes a transaction'],
  statuses.map(({ transactions, tip, index_bytes: bytes }) => [
    shown([transactions]),
    shown([tip?.height ?? 0]),
    shown([bytes / 1e6]),
    shown([bytes / transactions]),
  ]),
);
say();

const NONE = '';
table(
  ['list', 'chain', 'items', 'first, µs', 'middle, µs', 'last, µs', 'first, ratio', 'middle, ratio', 'last, ratio'],
  timed[0]!.flatMap(({ name }, n) => {
    const lists = timed.map((of) => of[n]!);
    /** The smallest chain's first page that is full. */
    const base = lists.findIndex(({ items }) => items >= limit);
    return lists.map(({ items, places }, size) => {
      const times = [0, 1, 2].map((place) => places[place]?.microseconds);
      const ratio = (of: number[]) => {
        const baseTimes = lists[base]!.places[0]!.microseconds;
        // By round, as a busy machine slows down both.
        return shown([spread(of.map((time, round) => time / baseTimes[round]!)).median], 2);
      };
      return [
        size === 0 ? name : NONE,
        shown([statuses[size]!.transactions]),
        shown([items]),
        ...times.map((of) => (of === undefined ? NONE : shown(of))),
        ...times.map((of) => (of === undefined || items < limit ? NONE : ratio(of))),
      ];
    });
  }),
);
