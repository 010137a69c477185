/** What sums of the busiest account cost by how far back they are, and pages of the longest lists by their offset. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { directoryStatus } from '../src/store/files/status.ts';
import { devnetIndex, SEED } from './dataset.ts';
import { onCore, ROOT, run, script } from './harness.ts';
import type { Timed } from './parts/address-times.ts';
import { type Cell, figure, publish, reportOptions, spread } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    /** Transactions of the chains, about. */
    sizes: { type: 'string', default: '10000,100000' },
    repeat: { type: 'string', default: '5' },
    /** How often each is asked for in a round. */
    repetitions: { type: 'string', default: '100' },
    limit: { type: 'string', default: '50' },
  },
});
const sizes = values.sizes
  .split(',')
  .map(Number)
  .sort((a, b) => a - b);

const directories: string[] = [];
for (const size of sizes) directories.push(await devnetIndex(size));
const part = join(ROOT, 'bench', 'parts', 'address-times.ts');
const command = script(part, values.repeat, values.repetitions, values.limit, ...directories);
const timed: Timed[][] = JSON.parse((await run(onCore(0, command))).stdout);
const transactions = directories.map((directory) => directoryStatus(directory).transactions);

publish([
  {
    title: 'Addresses',
    notes: [
      `data: simulated chains of seed ${SEED}; pages of ${values.limit} items`,
      `${values.repeat} rounds, the median of ${values.repetitions} times in each; median of the rounds (least to greatest)`,
      'first, middle and last: the tip, half its height and a hundredth of it; or offsets',
      'ratio: to the first of the same chain, in the same round',
    ],
    tables: [
      {
        head: ['what', 'chain', 'items', 'first, µs', 'middle, µs', 'last, µs', 'middle, ratio', 'last, ratio'],
        rows: timed.flatMap((asks, n) =>
          [...new Set(asks.map(({ name }) => name))].map((name) => {
            const of = (place: Timed['place']) => asks.find((ask) => ask.name === name && ask.place === place);
            const [first, middle, last] = [of('first'), of('middle'), of('last')];
            const ratio = (to: Timed | undefined): Cell =>
              to === undefined || first === undefined
                ? ''
                : figure([spread(to.microseconds.map((time, round) => time / first.microseconds[round]!)).median], 2);
            return [
              name,
              figure([transactions[n]!]),
              figure([first?.items ?? 0]),
              ...[first, middle, last].map((ask) => (ask === undefined ? '' : figure(ask.microseconds))),
              ratio(middle),
              ratio(last),
            ];
          }),
        ),
      },
    ],
  },
]);
