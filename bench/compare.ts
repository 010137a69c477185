/**
 * Runs a benchmark in another revision and in this working tree, in turn, and prints the ratio of each figure. Both use the
 * scripts of this working tree, so that the same code measures both.
 */
import { parseArgs } from 'node:util';
import { say, withDirectory } from './harness.ts';
import { compared, exceeded, pairsOf, unpack } from './parts/comparison.ts';
import { figure, sectionLines, spread } from './results.ts';

const { values, positionals } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    /** `TEXT=RATIO`: exits with 1 if a figure whose name contains the text has a greater median ratio. */
    'at-most': { type: 'string', multiple: true, default: [] },
  },
  allowPositionals: true,
});
const [revision, bench, ...options] = positionals;
if (revision === undefined || bench === undefined) {
  process.stderr.write('Usage: bun bench/compare.ts [--rounds N] [--at-most TEXT=RATIO] REVISION BENCH [-- OPTION…]\n');
  process.exit(1);
}

const limits = values['at-most'].map((limit) => {
  const [, text = '', ratio] = /^(.+)=([\d.]+)$/.exec(limit) ?? [];
  if (ratio === undefined) throw new Error(`--at-most ${limit} is not TEXT=RATIO`);
  return { text, ratio: Number(ratio) };
});

const comparison = await withDirectory(async (tree) => {
  await unpack(revision, tree);
  return compared(tree, bench, options, Number(values.rounds));
});

/** Returns the decimal places that show three digits of a figure. */
const digitsFor = (figures: readonly number[]): number => {
  const { median } = spread(figures);
  return median >= 100 ? 0 : median >= 10 ? 1 : 2;
};

const command = `bench/${bench}.ts ${options.join(' ')}`.trim();
say(`## ${command}: against ${revision}`);
say();
const section = {
  title: '',
  notes: [`${values.rounds} rounds in turn; median (least to greatest); ratio: now / ${revision}, by round`],
  tables: [
    {
      head: ['figure', revision, 'now', 'ratio'],
      rows: pairsOf(comparison).map(({ name, reference, now }) => [
        name,
        figure(reference, digitsFor(reference)),
        figure(now, digitsFor(now)),
        figure(
          now.map((value, index) => value / reference[index]!),
          2,
        ),
      ]),
    },
  ],
};
for (const line of sectionLines(section, comparison.now)) say(line);
for (const { name, ratio, limit } of exceeded(comparison, limits)) {
  process.stderr.write(`${name}: ${ratio.toFixed(2)} times ${revision}, more than ${limit}\n`);
  process.exitCode = 1;
}
