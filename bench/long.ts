/**
 * Measures the import of a chain of millions of transactions: rate, files and memory during the import, and requests to the
 * finished index. The recording comes through a pipe and is never on the disk.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { SEED } from './dataset.ts';
import { MAIN, ROOT, run, script, statusOf } from './harness.ts';
import { reportOf } from './parts/comparison.ts';
import { growthSection, type Sample } from './parts/growth.ts';
import { indexSection } from './parts/long-index.ts';
import { publish, reportOptions } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    transactions: { type: 'string', default: '10000000' },
    /** The recording ends after this time, whatever its length. */
    minutes: { type: 'string', default: '600' },
    /** Transactions per row of the table. */
    every: { type: 'string', default: '500000' },
    /** An empty directory on the disk to measure. */
    data: { type: 'string' },
    repeat: { type: 'string', default: '1' },
  },
});
const { data } = values;
if (data === undefined) throw new Error('--data is missing: an empty directory on the disk to measure');
const TRANSACTIONS_PER_BLOCK = 40;
const TRANSACTIONS_PER_ACCOUNT = 5000;
const LOOK_MS = 2000;
const TICKS_PER_SECOND = 100;

/** Returns the resources that a process has used so far. @throws ErrnoException if it has ended */
function usageOf(pid: number): Pick<Sample, 'userSeconds' | 'systemSeconds' | 'memory' | 'written'> {
  const read = (name: string): string => readFileSync(`/proc/${pid}/${name}`, 'utf8');
  const stat = read('stat');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return {
    userSeconds: Number(fields[11]) / TICKS_PER_SECOND,
    systemSeconds: Number(fields[12]) / TICKS_PER_SECOND,
    memory: Number(/^VmRSS:\s+(\d+) kB$/m.exec(read('status'))?.[1] ?? 0) * 1024,
    written: Number(/^write_bytes: (\d+)$/m.exec(read('io'))?.[1] ?? 0),
  };
}

const logBytes = (directory: string): number =>
  readdirSync(directory)
    .filter((name) => name.endsWith('-wal'))
    .reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);

/** Imports the chain. @returns samples of its progress */
async function runImport(directory: string): Promise<Sample[]> {
  mkdirSync(directory, { recursive: true });
  const pipe = join(directory, 'recording');
  await run(['mkfifo', pipe]);
  const index = join(directory, 'data');
  const command = script(MAIN, 'import', pipe, '--data', index, '--log-level', 'error');
  const importer = Bun.spawn(command, { stdout: 'ignore', stderr: 'ignore', cwd: ROOT });
  const accounts = Math.ceil(Number(values.transactions) / TRANSACTIONS_PER_ACCOUNT);
  const chain = [values.transactions, TRANSACTIONS_PER_BLOCK, accounts, SEED, values.minutes].map(String);
  const maker = Bun.spawn(script(join(ROOT, 'bench/parts/generate.ts'), pipe, ...chain), {
    stderr: 'inherit',
    cwd: ROOT,
  });
  const started = performance.now();
  const samples: Sample[] = [];
  while (importer.exitCode === null) {
    await Promise.race([Bun.sleep(LOOK_MS), importer.exited]);
    if (importer.exitCode !== null) break;
    const { transactions, tip, index_bytes, journal } = await statusOf(index);
    samples.push({
      ...usageOf(importer.pid),
      seconds: (performance.now() - started) / 1000,
      transactions,
      height: tip?.height ?? 0,
      index: index_bytes,
      journal: journal?.bytes ?? 0,
      logs: logBytes(index),
    });
  }
  if ((await maker.exited) !== 0 || importer.exitCode !== 0) throw new Error('the import ended before its time');
  rmSync(pipe);
  return samples;
}

const samples = await runImport(data);
const index = join(data, 'data');
const start = await reportOf(ROOT, 'start', ['--data', index]);
const requests = await reportOf(ROOT, 'http', ['--data', index, '--distinct']);
publish(
  [growthSection(samples, Number(values.every)), await indexSection(index), ...start.sections, ...requests.sections],
  { pinned: false },
);
