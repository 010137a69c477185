/** Measures the import of a recording, compared with the least work that any importer has to do. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BLOCKS, devnetRecording, genesisRecording, SEED } from './dataset.ts';
import { type Finished, MAIN, onCore, onCores, run, script, statusOf, TREE, withDirectory } from './harness.ts';
import { type Cell, figure, publish, reportOptions, spread } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '3' },
    blocks: { type: 'string', default: String(BLOCKS) },
    /** Also imports a recording with this many times the blocks, to measure memory. 0: none. */
    longer: { type: 'string', default: '4' },
    /** Imports of the genesis block. Default: one per round. */
    genesis: { type: 'string' },
    /** Cores of the import; the baselines use one. */
    cores: { type: 'string', default: '1' },
    program: { type: 'string' },
  },
});
const repeat = Number(values.repeat);
const blocks = Number(values.blocks);
const longer = Number(values.longer);
const cores = Number(values.cores);
const genesisRounds = Number(values.genesis ?? repeat);
const program = values.program === undefined ? script(MAIN) : [values.program];

const MEGABYTE = 1e6;
const megabytes = (bytes: number): number => bytes / MEGABYTE;

const importOf = (file: string, directory: string): Promise<Finished> =>
  run(onCores(cores, [...program, 'import', file, '--data', directory, '--log-level', 'error']));

const baseline = async <T>(name: string, ...args: string[]): Promise<T & { seconds: number }> =>
  JSON.parse((await run(onCore(0, script(join(TREE, 'bench', 'parts', name), ...args)))).stdout);

interface Sizes {
  transactions: number;
  height: number;
  index: number;
  journal: number;
}

async function sizesOf(directory: string): Promise<Sizes> {
  const { transactions, tip, index_bytes, journal } = await statusOf(directory);
  return { transactions, height: tip?.height ?? 0, index: index_bytes, journal: journal?.bytes ?? 0 };
}

/** One round: the import and both baselines, each in a new process. */
async function runRound(file: string) {
  return withDirectory(async (directory) => {
    const imported = await importOf(file, join(directory, 'imported'));
    const sizes = await sizesOf(join(directory, 'imported'));
    const parsed = await baseline<{ bytes: number }>('parse-json.ts', file);
    const inserted = await baseline<{ cpuSeconds: number; counts: Record<string, number> }>(
      'insert-rows.ts',
      join(directory, 'imported'),
      join(directory, 'copied'),
    );
    return { imported, sizes, parsed, inserted };
  });
}

type Once = Finished & Sizes;

async function once(file: string): Promise<Once> {
  return withDirectory(async (directory) => {
    const finished = await importOf(file, directory);
    return { ...finished, ...(await sizesOf(directory)) };
  });
}

const file = await devnetRecording(blocks);
const rounds: Awaited<ReturnType<typeof runRound>>[] = [];
for (let n = 0; n < repeat; n++) rounds.push(await runRound(file));

type Round = (typeof rounds)[number];
const { sizes, parsed, inserted } = rounds[0]!;
const row = (name: string, of: (round: Round) => number, digits = 0): Cell[] => [name, figure(rounds.map(of), digits)];

/** Imports of other inputs, whose rate and memory are compared. */
const inputs: [name: string, runs: readonly Once[]][] = [
  [`${blocks} blocks`, rounds.map(({ imported }) => ({ ...imported, ...sizes }))],
];
if (longer > 0) inputs.push([`${blocks * longer} blocks`, [await once(await devnetRecording(blocks * longer))]]);
if (genesisRounds > 0) {
  const genesis = await genesisRecording();
  const runs: Once[] = [];
  for (let n = 0; n < genesisRounds; n++) runs.push(await once(genesis));
  inputs.push([`genesis of ${megabytes(statSync(genesis).size).toFixed(0)} MB`, runs]);
}

const rateOf = ({ transactions, seconds }: Once): number => transactions / seconds;
const firstRate = spread(inputs[0]![1].map(rateOf)).median;

publish([
  {
    title: 'Import',
    notes: [
      `input: simulated chain of seed ${SEED}, ${blocks} blocks, ${sizes.transactions.toLocaleString('en-US')} transactions on the winning chain; ${megabytes(statSync(file).size).toFixed(1)} MB, of which JSON ${megabytes(parsed.bytes).toFixed(1)} MB`,
      `rows of the plain inserts: ${Object.values(inserted.counts)
        .reduce((sum, count) => sum + count, 0)
        .toLocaleString('en-US')} of ${Object.keys(inserted.counts).length} tables`,
      `${cores === 1 ? '' : `the import has ${cores} cores; `}${repeat} rounds: median (least to greatest)`,
    ],
    tables: [
      {
        head: ['figure', 'value'],
        rows: [
          row('transactions/s', ({ imported }) => sizes.transactions / imported.seconds),
          row('blocks/s', ({ imported }) => sizes.height / imported.seconds),
          row('MB of JSON/s', ({ imported }) => megabytes(parsed.bytes) / imported.seconds, 1),
          row('seconds', ({ imported }) => imported.seconds, 2),
          row('seconds of processor time', ({ imported }) => imported.cpuSeconds, 2),
          row('peak memory, MB', ({ imported }) => megabytes(imported.peakMemory)),
          ['index, bytes per transaction', figure([sizes.index / sizes.transactions])],
          ['journal, bytes per transaction', figure([sizes.journal / sizes.transactions])],
          row('JSON.parse, seconds', (round) => round.parsed.seconds, 2),
          row('time of import / JSON.parse', (round) => round.imported.seconds / round.parsed.seconds, 2),
          row('plain inserts, seconds', (round) => round.inserted.seconds, 2),
          row('plain inserts, seconds of processor time', (round) => round.inserted.cpuSeconds, 2),
          row('time of import / plain inserts', ({ imported, inserted }) => imported.seconds / inserted.seconds, 2),
          row('processor time of import / plain inserts', (r) => r.imported.cpuSeconds / r.inserted.cpuSeconds, 2),
        ],
      },
      {
        head: [
          'input',
          'transactions',
          'transactions/s',
          'rate / first',
          'seconds',
          'processor seconds',
          'peak memory, MB',
        ],
        rows: inputs.map(([name, runs]) => {
          const cell = (value: (run: Once) => number, digits = 0): Cell => figure(runs.map(value), digits);
          return [
            name,
            figure([runs[0]!.transactions]),
            cell(rateOf),
            cell((run) => rateOf(run) / firstRate, 2),
            cell(({ seconds }) => seconds, 1),
            cell(({ cpuSeconds }) => cpuSeconds, 1),
            cell(({ peakMemory }) => megabytes(peakMemory)),
          ];
        }),
      },
    ],
  },
]);
