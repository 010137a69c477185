/** What the files of a long chain cost an operator. */
import { directoryStatus } from '../../src/store/files/status.ts';
import { MAIN, run, script } from '../harness.ts';
import { figure, type Section } from '../results.ts';

const GIGABYTE = 1e9;
/** Blocks that a check looks at: a day or so of them. */
const CHECKED = 1000;

export async function indexSection(directory: string): Promise<Section> {
  const program = (...args: string[]) => run(script(MAIN, ...args, '--data', directory));
  const { transactions, tip, index_bytes, journal } = directoryStatus(directory);
  const check = await program('check', '--since', String(Math.max(0, (tip?.height ?? 0) - CHECKED)));
  return {
    title: 'A long chain: its files',
    notes: [],
    tables: [
      {
        head: ['figure', 'value'],
        rows: [
          ['transactions', figure([transactions])],
          ['index, GB', figure([index_bytes / GIGABYTE], 2)],
          ['journal, GB', figure([(journal?.bytes ?? 0) / GIGABYTE], 2)],
          ['check of the last 1,000 blocks, seconds', figure([check.seconds], 1)],
          ['check of the last 1,000 blocks, processor seconds', figure([check.cpuSeconds], 1)],
        ],
      },
    ],
  };
}
