/** How fast a recording is imported, beside the least that any importer of it has to do. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { directoryStatus } from '../src/store/files/status.ts';
import { BLOCKS, devnetRecording, genesisRecording, SEED } from './dataset.ts';
import {
  type Finished,
  heading,
  MAIN,
  onCore,
  ROOT,
  run,
  say,
  script,
  shown,
  table,
  withDirectory,
} from './harness.ts';

const { values } = parseArgs({
  options: {
    repeat: { type: 'string', default: '3' },
    blocks: { type: 'string', default: String(BLOCKS) },
    /** A recording of so many times as many blocks is imported as well, for its memory. 0 for none. */
    longer: { type: 'string', default: '4' },
    /** How often the genesis block is imported; else as often as there are rounds. 0 for not at all. */
    genesis: { type: 'string' },
    program: { type: 'string' },
  },
});
const repeat = Number(values.repeat);
const blocks = Number(values.blocks);
const longer = Number(values.longer);
const genesisRounds = Number(values.genesis ?? repeat);
const program = values.program === undefined ? script(MAIN) : [values.program];

const MEGABYTE = 1e6;
const megabytes = (bytes: number): number => bytes / MEGABYTE;

const importOf = (file: string, directory: string): Promise<Finished> =>
  run(onCore(0, [...program, 'import', file, '--data', directory, '--log-level', 'error']));

const baseline = async <T>(name: string, ...args: string[]): Promise<T & { seconds: number }> =>
  JSON.parse((await run(onCore(0, script(join(ROOT, 'bench', 'parts', name), ...args)))).stdout);

interface Sizes {
  transactions: number;
  height: number;
  index: number;
  journal: number;
}

function sizesOf(directory: string): Sizes {
  const { transactions, tip, index_bytes, journal } = directoryStatus(directory);
  return { transactions, height: tip?.height ?? 0, index: index_bytes, journal: journal?.bytes ?? 0 };
}

/** One round: the import and both baselines, each in a fresh process. */
async function round(file: string) {
  return withDirectory(async (directory) => {
    const imported = await importOf(file, join(directory, 'imported'));
    const sizes = sizesOf(join(directory, 'imported'));
    const parsed = await baseline<{ bytes: number }>('parse-json.ts', file);
    const inserted = await baseline<{ cpuSeconds: number; counts: Record<string, number> }>(
      'insert-rows.ts',
      join(directory, 'imported'),
      join(directory, 'copied'),
    );
    return { imported, sizes, parsed, inserted };
  });
}

async function once(file: string) {
  return withDirectory(async (directory) => {
    const finished = await importOf(file, directory);
    return { ...finished, ...sizesOf(directory) };
  });
}

const file = await devnetRecording(blocks);
const rounds: Awaited<ReturnType<typeof round>>[] = [];
for (let n = 0; n < repeat; n++) rounds.push(await round(file));

type Round = (typeof rounds)[number];
const { sizes, parsed, inserted } = rounds[0]!;
const figure = (of: (one: Round) => number, digits = 0): string => shown(rounds.map(of), digits);
const perSecond = (amount: number, digits = 0): string => figure(({ imported }) => amount / imported.seconds, digits);

heading('Import');
say(
  `- input: simulated chain of seed ${SEED}, ${blocks} blocks, ${sizes.transactions.toLocaleString('en-US')} transactions`,
);
say(
  `  on the winning chain; ${megabytes(statSync(file).size).toFixed(1)} MB, of which JSON ${megabytes(parsed.bytes).toFixed(1)} MB`,
);
say(
  `- rows: ${Object.entries(inserted.counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')}`,
);
say(`- ${repeat} rounds: median (least to greatest)`);
say();
table(
  ['figure', 'value'],
  [
    ['transactions/s', perSecond(sizes.transactions)],
    ['blocks/s', perSecond(sizes.height)],
    ['MB of JSON/s', perSecond(megabytes(parsed.bytes), 1)],
    ['seconds', figure(({ imported }) => imported.seconds, 2)],
    ['seconds of processor time', figure(({ imported }) => imported.cpuSeconds, 2)],
    ['peak memory, MB', figure(({ imported }) => megabytes(imported.peakMemory))],
    ['index, bytes a transaction', shown([sizes.index / sizes.transactions])],
    ['journal, bytes a transaction', shown([sizes.journal / sizes.transactions])],
    ['JSON.parse alone, seconds', figure((of) => of.parsed.seconds, 2)],
    ['time of import / JSON.parse alone', figure((of) => of.imported.seconds / of.parsed.seconds, 2)],
    ['inserts alone, seconds', figure((of) => of.inserted.seconds, 2)],
    ['inserts alone, seconds of processor time', figure((of) => of.inserted.cpuSeconds, 2)],
    ['time of import / inserts alone', figure((of) => of.imported.seconds / of.inserted.seconds, 2)],
    ['processor time of import / inserts alone', figure((of) => of.imported.cpuSeconds / of.inserted.cpuSeconds, 2)],
  ],
);

const peaks: string[][] = [
  [
    `${blocks} blocks`,
    shown([sizes.transactions]),
    figure(({ imported }) => imported.seconds, 1),
    figure(({ imported }) => imported.cpuSeconds, 1),
    figure(({ imported }) => megabytes(imported.peakMemory)),
  ],
];
const addPeaks = (name: string, runs: readonly Awaited<ReturnType<typeof once>>[]): void => {
  peaks.push([
    name,
    shown([runs[0]!.transactions]),
    shown(
      runs.map((of) => of.seconds),
      1,
    ),
    shown(
      runs.map((of) => of.cpuSeconds),
      1,
    ),
    shown(runs.map((of) => megabytes(of.peakMemory))),
  ]);
};
if (longer > 0) addPeaks(`${blocks * longer} blocks`, [await once(await devnetRecording(blocks * longer))]);
if (genesisRounds > 0) {
  const genesis = await genesisRecording();
  const runs: Awaited<ReturnType<typeof once>>[] = [];
  for (let n = 0; n < genesisRounds; n++) runs.push(await once(genesis));
  addPeaks(`genesis of ${megabytes(statSync(genesis).size).toFixed(0)} MB`, runs);
}
say();
table(['input', 'transactions', 'seconds', 'processor seconds', 'peak memory, MB'], peaks);
