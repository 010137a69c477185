/**
 * Runs a benchmark at another revision and in this working tree, in turn, and prints how the figures of the two compare.
 * Both run the benchmarks of this working tree, so that both are measured by the same code.
 */
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { commit, heading, machine, ROOT, run, say, script, shown, spread, table, withDirectory } from './harness.ts';

const { values, positionals } = parseArgs({
  options: { rounds: { type: 'string', default: '5' } },
  allowPositionals: true,
});
const [reference, bench, ...options] = positionals;
if (reference === undefined || bench === undefined) {
  process.stderr.write('Usage: bun bench/compare.ts [--rounds N] REF BENCH [-- OPTION…]\n');
  process.exit(1);
}

interface Figure {
  /** The labels of its row and its column. */
  name: string;
  value: number;
}

/** A cell with a figure: a number, and its spread where it was taken several times. */
const FIGURE = /^-?[\d,]+(\.\d+)?( %)?( \(.*\))?$/;

const cellsOf = (line: string): string[] =>
  line
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim());

/** The figures of a report, in the order they stand in. @param report Markdown that a benchmark prints */
function figuresOf(report: string): Figure[] {
  const figures: Figure[] = [];
  let columns: string[] | null = null;
  for (const line of report.split('\n')) {
    if (!line.startsWith('|')) columns = null;
    else if (columns === null) columns = cellsOf(line);
    else {
      const cells = cellsOf(line);
      const label = cells.filter((cell, index) => index === 0 || !FIGURE.test(cell)).join(' ');
      for (const [index, cell] of cells.entries()) {
        if (index === 0 || !FIGURE.test(cell)) continue;
        const name = columns.length === 2 ? label : `${label}: ${columns[index]}`;
        figures.push({ name, value: Number.parseFloat(cell.replaceAll(',', '')) });
      }
    }
  }
  return figures;
}

/** Unpacks a revision into an empty directory, with the benchmarks and the packages of this one. */
async function unpack(revision: string, directory: string): Promise<void> {
  const archive = join(directory, 'revision.tar');
  await run(['git', 'archive', '--output', archive, revision]);
  await run(['tar', '-xf', archive, '-C', directory]);
  rmSync(join(directory, 'bench'), { recursive: true });
  cpSync(join(ROOT, 'bench'), join(directory, 'bench'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
}

/** One run of the benchmark in a tree: its figures, and what all its processes took. */
async function figuresIn(tree: string): Promise<Figure[]> {
  const command = script(join(tree, 'bench', `${bench}.ts`), '--repeat', '1', ...options);
  const { stdout, seconds, cpuSeconds } = await run(command);
  return [
    ...figuresOf(stdout),
    { name: 'the whole benchmark: seconds', value: seconds },
    { name: 'the whole benchmark: seconds of processor time', value: cpuSeconds },
  ];
}

interface Round {
  reference: Figure[];
  now: Figure[];
}

/** Runs both once. @param referenceFirst whichever comes first meets another state of the machine: the order alternates */
async function round(tree: string, referenceFirst: boolean): Promise<Round> {
  const first = await figuresIn(referenceFirst ? tree : ROOT);
  const second = await figuresIn(referenceFirst ? ROOT : tree);
  return referenceFirst ? { reference: first, now: second } : { reference: second, now: first };
}

/** The values of a figure in all rounds. @param index its place in the report */
const valuesOf = (rounds: readonly Round[], side: keyof Round, index: number): number[] =>
  rounds.map((one) => one[side][index]!.value);

function comparison(rounds: readonly Round[]) {
  const names = rounds[0]!.now.map(({ name }) => name);
  const alike = (figures: readonly Figure[]): boolean => figures.map(({ name }) => name).join() === names.join();
  if (!rounds.every((one) => alike(one.reference) && alike(one.now))) {
    throw new Error('the reports of the two revisions have different rows');
  }
  return names.map((name, index) => {
    const [before, now] = [valuesOf(rounds, 'reference', index), valuesOf(rounds, 'now', index)];
    return { name, reference: before, now, ratio: now.map((value, at) => value / before[at]!) };
  });
}

/** The digits that three places of a figure need. */
const digitsFor = (figures: readonly number[]): number => {
  const { median } = spread(figures);
  return median >= 100 ? 0 : median >= 10 ? 1 : 2;
};

const rounds: Round[] = [];
await withDirectory(async (tree) => {
  await unpack(reference, tree);
  for (let n = 0; n < Number(values.rounds); n++) rounds.push(await round(tree, n % 2 === 0));
});
const compared = comparison(rounds);

const title = `bench/${bench}.ts ${options.join(' ')}`.trim();
heading(`${title}: against ${reference}`);
say(
  `- ${values.rounds} rounds in turn; median (least to greatest); the ratio is that of each round, now / ${reference}`,
);
say();
table(
  ['figure', reference, 'now', 'ratio'],
  compared.map(({ name, reference: before, now, ratio }) => [
    name,
    shown(before, digitsFor(before)),
    shown(now, digitsFor(now)),
    shown(ratio, 2),
  ]),
);

const results = join(ROOT, 'bench', 'results');
mkdirSync(results, { recursive: true });
const date = new Date().toISOString();
const file = join(results, `${bench}-${date.slice(0, 19).replaceAll(':', '')}.json`);
writeFileSync(
  file,
  `${JSON.stringify({ title, date, machine, reference, commit: commit(), figures: compared }, null, 1)}\n`,
);
say();
say(`Kept in ${file.slice(ROOT.length + 1)}.`);
