/** How long `stackside check` takes for chains of several lengths, beside the import of the same recordings. */
import { parseArgs } from 'node:util';
import { directoryStatus } from '../src/store/files/status.ts';
import { devnetRecording } from './dataset.ts';
import { type Finished, MAIN, onCore, run, script, withDirectory } from './harness.ts';
import { type Cell, figure, publish, reportOptions } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '3' },
    /** Lengths of the chains, in blocks. */
    sizes: { type: 'string', default: '650,1300,2600' },
  },
});
const repeat = Number(values.repeat);

const MEGABYTE = 1e6;

/** One import, and so many checks of what it made. */
async function measure(blocks: number) {
  const file = await devnetRecording(blocks);
  return withDirectory(async (directory) => {
    const program = (...args: string[]) => run(onCore(0, script(MAIN, ...args, '--data', directory)));
    const imported = await program('import', file, '--log-level', 'error');
    const checks: Finished[] = [];
    for (let n = 0; n < repeat; n++) checks.push(await program('check'));
    return { transactions: directoryStatus(directory).transactions, imported, checks };
  });
}

const rows: Cell[][] = [];
for (const blocks of values.sizes.split(',').map(Number)) {
  const { transactions, imported, checks } = await measure(blocks);
  const of = (value: (check: Finished) => number, digits = 0): Cell => figure(checks.map(value), digits);
  rows.push([
    `${blocks} blocks`,
    figure([transactions]),
    figure([imported.cpuSeconds], 1),
    of(({ cpuSeconds }) => cpuSeconds, 1),
    of(({ cpuSeconds }) => (cpuSeconds * 1e6) / transactions, 1),
    of(({ cpuSeconds }) => cpuSeconds / imported.cpuSeconds, 2),
    of(({ peakMemory }) => peakMemory / MEGABYTE),
  ]);
}

publish([
  {
    title: 'Check',
    notes: [
      `one import of each chain, and ${repeat} checks of it; median (least to greatest); seconds of processor time`,
    ],
    tables: [
      {
        head: ['chain', 'transactions', 'import, s', 'check, s', 'µs a transaction', 'check / import', 'peak, MB'],
        rows,
      },
    ],
  },
]);
