/** What a search costs by what is searched for and how long the chain is, also where somebody fills the index with alike names. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { onCore, ROOT, run, script, withDirectory } from './harness.ts';
import type { TimedSearches } from './parts/search-times.ts';
import { type Cell, figure, publish, reportOptions, spread } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    /** Transactions of the chains; the ratios are to the smallest one's. */
    sizes: { type: 'string', default: '1000000,10000000' },
    repeat: { type: 'string', default: '5' },
    /** How often a text is searched for in a round. */
    repetitions: { type: 'string', default: '200' },
    limit: { type: 'string', default: '20' },
  },
});
const sizes = values.sizes
  .split(',')
  .map(Number)
  .sort((a, b) => a - b)
  .map(String);

const measured: TimedSearches[] = await withDirectory(async (directory) => {
  const part = join(ROOT, 'bench', 'parts', 'search-times.ts');
  const command = script(part, directory, values.repeat, values.repetitions, values.limit, ...sizes);
  return JSON.parse((await run(onCore(0, command))).stdout);
});

const base = measured[0]!;
const nameOf = ({ transactions, isHostile }: TimedSearches): string =>
  `${transactions.toLocaleString('en-US')}${isHostile ? ', alike names' : ''}`;

publish([
  {
    title: 'Search as you type',
    notes: [
      'data: rows that a search reads, filled by hand: one block for 40 transactions, one contract and one account for 50, one name for 20, one fungible token for 1,000',
      'alike names: besides, a million contracts of one account whose names begin with `a`, and 100,000 tokens with the same symbol',
      `${values.limit} results; ${values.repeat} rounds, the median of ${values.repetitions} searches in each; median of the rounds (least to greatest); ratios are to the first chain, by round`,
    ],
    tables: [
      {
        head: ['chain', 'contracts', 'parts of names, MB', 'bytes a contract', 'bytes a transaction'],
        rows: measured.map((of) => [
          nameOf(of),
          figure([of.contracts]),
          figure([of.partBytes / 1e6]),
          figure([of.partBytes / of.contracts]),
          figure([of.partBytes / of.transactions], 1),
        ]),
      },
      {
        head: [
          'text',
          ...measured.map((of) => `${nameOf(of)}, µs`),
          ...measured.slice(1).map((of) => `${nameOf(of)}, ratio`),
        ],
        rows: base.searches.map(({ name, microseconds: shortest }, number) => {
          const times = measured.map(({ searches }) => searches[number]!.microseconds);
          const ratios = times
            .slice(1)
            .map((of): Cell => figure([spread(of.map((time, n) => time / shortest[n]!)).median], 2));
          return [name, ...times.map((of) => figure(of)), ...ratios];
        }),
      },
    ],
  },
]);
