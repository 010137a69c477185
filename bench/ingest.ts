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
  spread,
  table,
  withDirectory,
} from './harness.ts';

const { values } = parseArgs({
  options: {
    repeat: { type: 'string', default: '3' },
    blocks: { type: 'string', default: String(BLOCKS) },
    /** A recording of so many times as many blocks is imported as well, for its memory. 0 for none. */
    longer: { type: 'string', default: '4' },
    program: { type: 'string' },
  },
});
const repeat = Number(values.repeat);
const blocks = Number(values.blocks);
const longer = Number(values.longer);
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
    const inserted = await baseline<{ counts: Record<string, number> }>(
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

const { sizes, parsed, inserted } = rounds[0]!;
const seconds = rounds.map(({ imported }) => imported.seconds);
const per = (amount: number) => seconds.map((taken) => amount / taken);

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
    ['transactions/s', shown(per(sizes.transactions))],
    ['blocks/s', shown(per(sizes.height))],
    ['MB of JSON/s', shown(per(megabytes(parsed.bytes)), 1)],
    ['seconds', shown(seconds, 2)],
    ['peak memory, MB', shown(rounds.map(({ imported }) => megabytes(imported.peakMemory)))],
    ['index, bytes a transaction', shown([sizes.index / sizes.transactions])],
    ['journal, bytes a transaction', shown([sizes.journal / sizes.transactions])],
    [
      'JSON.parse alone, seconds',
      shown(
        rounds.map((of) => of.parsed.seconds),
        2,
      ),
    ],
    [
      'time of import / JSON.parse alone',
      shown(
        rounds.map((of) => of.imported.seconds / of.parsed.seconds),
        2,
      ),
    ],
    [
      'inserts alone, seconds',
      shown(
        rounds.map((of) => of.inserted.seconds),
        2,
      ),
    ],
    [
      'time of import / inserts alone',
      shown(
        rounds.map((of) => of.imported.seconds / of.inserted.seconds),
        2,
      ),
    ],
  ],
);

const peaks: string[][] = [
  [
    `${blocks} blocks`,
    shown([sizes.transactions]),
    shown([spread(seconds).median], 1),
    shown(rounds.map(({ imported }) => megabytes(imported.peakMemory))),
  ],
];
if (longer > 0) {
  const of = await once(await devnetRecording(blocks * longer));
  peaks.push([
    `${blocks * longer} blocks`,
    shown([of.transactions]),
    shown([of.seconds], 1),
    shown([megabytes(of.peakMemory)]),
  ]);
}
const genesis = await genesisRecording();
const genesisRuns: Awaited<ReturnType<typeof once>>[] = [];
for (let n = 0; n < repeat; n++) genesisRuns.push(await once(genesis));
peaks.push([
  `genesis of ${megabytes(statSync(genesis).size).toFixed(0)} MB`,
  shown([genesisRuns[0]!.transactions]),
  shown(
    genesisRuns.map((of) => of.seconds),
    1,
  ),
  shown(genesisRuns.map((of) => megabytes(of.peakMemory))),
]);
say();
table(['input', 'transactions', 'seconds', 'peak memory, MB'], peaks);
