/** How long `stackside check` takes for chains of several lengths, beside the import of the same recordings. */
import { parseArgs } from 'node:util';
import { directoryStatus } from '../src/store/files/status.ts';
import { devnetRecording } from './dataset.ts';
import { heading, MAIN, onCore, run, say, script, shown, table, withDirectory } from './harness.ts';

const { values } = parseArgs({
  options: {
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
    const checks: Awaited<ReturnType<typeof run>>[] = [];
    for (let n = 0; n < repeat; n++) checks.push(await program('check'));
    return { transactions: directoryStatus(directory).transactions, imported, checks };
  });
}

const rows: string[][] = [];
for (const blocks of values.sizes.split(',').map(Number)) {
  const { transactions, imported, checks } = await measure(blocks);
  rows.push([
    `${blocks} blocks`,
    shown([transactions]),
    shown([imported.cpuSeconds], 1),
    shown(
      checks.map(({ cpuSeconds }) => cpuSeconds),
      1,
    ),
    shown(
      checks.map(({ cpuSeconds }) => (cpuSeconds * 1e6) / transactions),
      1,
    ),
    shown(
      checks.map(({ cpuSeconds }) => cpuSeconds / imported.cpuSeconds),
      2,
    ),
    shown(checks.map(({ peakMemory }) => peakMemory / MEGABYTE)),
  ]);
}

heading('Check');
say(`- one import of each chain, and ${repeat} checks of it; median (least to greatest); seconds of processor time`);
say();
table(['chain', 'transactions', 'import, s', 'check, s', 'µs a transaction', 'check / import', 'peak, MB'], rows);
