/** Backup and restore of a chain, beside the import of the same chain: what a new server waits for in either way. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { directoryStatus, fileSizes } from '../src/store/files/status.ts';
import { BLOCKS, devnetRecording } from './dataset.ts';
import { type Finished, MAIN, onCore, run, script, withDirectory } from './harness.ts';
import { figure, publish, reportOptions } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '3' },
    /** Length of the chain. */
    blocks: { type: 'string', default: String(BLOCKS) },
  },
});
const repeat = Number(values.repeat);
const file = await devnetRecording(Number(values.blocks));

interface Round {
  imported: Finished;
  saved: Finished;
  restored: Finished;
  bytes: number;
  compressed: number;
  transactions: number;
}

/** A round: an import, a backup of what it made, and a restore of that. */
const round = (): Promise<Round> =>
  withDirectory(async (directory) => {
    const at = (name: string): string => join(directory, name);
    const program = (...args: string[]) => run(onCore(0, script(MAIN, ...args)));
    const imported = await program('import', file, '--data', at('data'), '--log-level', 'error');
    const saved = await program('backup', at('backup'), '--data', at('data'));
    const restored = await program('restore', at('backup'), '--data', at('restored'));
    const manifest = await Bun.file(join(at('backup'), 'manifest.json')).json();
    const { bytes, compressed_bytes } = manifest.manifest as { bytes: number; compressed_bytes: number };
    if ([...fileSizes(at('restored')).values()].reduce((sum, size) => sum + size, 0) !== bytes) {
      throw new Error('the restored files have another size');
    }
    const { transactions } = directoryStatus(at('data'));
    return { imported, saved, restored, bytes, compressed: compressed_bytes, transactions };
  });

const rounds: Round[] = [];
for (let n = 0; n < repeat; n++) rounds.push(await round());

const MEGABYTE = 1e6;
const of = (value: (one: Round) => number, digits = 0) => figure(rounds.map(value), digits);
const row = (name: string, timed: (one: Round) => Finished) => [
  name,
  of((one) => timed(one).seconds, 1),
  of((one) => timed(one).cpuSeconds, 1),
  of((one) => one.bytes / MEGABYTE / timed(one).seconds),
  of((one) => timed(one).seconds / one.imported.seconds, 3),
  of((one) => timed(one).peakMemory / MEGABYTE),
];

publish([
  {
    title: 'Backups',
    notes: [
      `${rounds[0]?.transactions.toLocaleString('en-US')} transactions; ${repeat} rounds on one core, each with an import first`,
      'MB are those of the data; a backup in a directory of the same disk',
    ],
    tables: [
      {
        head: ['work', 's', 'processor s', 'MB/s', 'of the import', 'peak, MB'],
        rows: [
          row('import of the recording', ({ imported }) => imported),
          row('backup', ({ saved }) => saved),
          row('restore', ({ restored }) => restored),
        ],
      },
      {
        head: ['size', 'MB'],
        rows: [
          ['data', of(({ bytes }) => bytes / MEGABYTE, 1)],
          ['backup', of(({ compressed }) => compressed / MEGABYTE, 1)],
        ],
      },
    ],
  },
]);
