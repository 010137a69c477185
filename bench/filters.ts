/** What a page of v1's list of transactions costs with each filter and order, by how long the chain is. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { directoryStatus } from '../src/store/files/status.ts';
import { devnetIndex, SEED } from './dataset.ts';
import { onCore, ROOT, run, script } from './harness.ts';
import type { TimedFilter } from './parts/filter-times.ts';
import { figure, publish, reportOptions, spread } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    /** Transactions of the chains, about; the ratios are to the smallest one's page without a filter. */
    sizes: { type: 'string', default: '10000,100000' },
    repeat: { type: 'string', default: '5' },
    /** How often a page is read in a round. */
    repetitions: { type: 'string', default: '50' },
    limit: { type: 'string', default: '50' },
  },
});
const sizes = (values.sizes ?? '')
  .split(',')
  .map(Number)
  .sort((a, b) => a - b);

const directories: string[] = [];
for (const size of sizes) directories.push(await devnetIndex(size));
const parts = join(ROOT, 'bench', 'parts', 'filter-times.ts');
const command = script(parts, values.repeat, values.repetitions, values.limit, ...directories);
const timed: TimedFilter[][] = JSON.parse((await run(onCore(0, command))).stdout);
const lengths = directories.map((directory) => directoryStatus(directory).transactions);

const base = timed[0]![0]!.microseconds;
publish([
  {
    title: "Filters of v1's list",
    notes: [
      `data: simulated chains of seed ${SEED}; pages of ${values.limit} transactions with everything v1 shows of them`,
      `${values.repeat} rounds, the median of ${values.repetitions} times a page in each; median of the rounds (least to greatest); ratios are to the smallest chain's page without a filter, by round`,
    ],
    tables: [
      {
        head: ['filter and order', 'chain', 'pass', 'page, µs', 'ratio'],
        rows: timed[0]!.flatMap(({ name }, n) =>
          timed.map((of, size) => {
            const { total, microseconds } = of[n]!;
            const ratio = spread(microseconds.map((time, round) => time / base[round]!)).median;
            return [
              size === 0 ? name : '',
              figure([lengths[size]!]),
              figure([total]),
              figure(microseconds),
              figure([ratio], 2),
            ];
          }),
        ),
      },
    ],
  },
]);
