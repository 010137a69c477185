/**
 * Runs the whole suite, with the arguments of `bun test`, and prints its slowest files at the end. The slowest files,
 * by test/timings.json, start first, so that no processor waits for the last one. `bun test/run.ts --update-timings`
 * measures them again.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';

const SLOWEST = 20;

/**
 * Settings of the engine that save processor time in tests. The optimizing compiler waits five times as long as usual, and
 * the compilers for code that runs very often, of JavaScript and of WebAssembly, are off. Garbage is collected after 128 MB
 * instead of 32, and no thread returns unused memory to the system.
 */
const ENGINE = {
  BUN_JSC_useFTLJIT: '0',
  BUN_JSC_useOMGJIT: '0',
  BUN_JSC_thresholdForOptimizeAfterWarmUp: '5000',
  BUN_JSC_thresholdForOptimizeAfterLongWarmUp: '5000',
  BUN_JSC_largeHeapSize: String(128 * 1024 ** 2),
  MIMALLOC_PURGE_DELAY: '-1',
};

/** Memory of the largest process that runs test files, in bytes. Five take 6 GB together. */
const WORKER_MEMORY = 2 * 1024 ** 3;
const processors = availableParallelism();
/**
 * Processes that run test files at the same time. They are more than the processors if there is memory, because end-to-end
 * and browser tests wait for other processes and for time limits most of the time.
 */
const WORKERS = Math.max(processors, Math.min(processors + 3, Math.floor(totalmem() / WORKER_MEMORY)));

/** The files of a JUnit report by the seconds of their tests, slowest first. */
function slowestFiles(report: string): { file: string; seconds: number }[] {
  const suites = report.matchAll(/<testsuite name="([^"]*)" file="([^"]*)"[^>]* time="([\d.]+)"/g);
  // A file is a suite whose name is its path. The groups inside it are suites as well.
  return [...suites]
    .filter(([, name, file]) => name === file)
    .map(([, , file = '', seconds]) => ({ file, seconds: Number(seconds) }))
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, SLOWEST);
}

const directory = mkdtempSync(join(tmpdir(), 'stackside-suite-'));
const report = join(directory, 'junit.xml');
const suite = Bun.spawn(
  [
    process.execPath,
    ...['test', `--parallel=${WORKERS}`, '--no-isolate'],
    ...[`--timings=${join(import.meta.dir, 'timings.json')}`, '--reporter=junit', `--reporter-outfile=${report}`],
    ...process.argv.slice(2),
  ],
  { stdio: ['inherit', 'inherit', 'inherit'], env: { ...ENGINE, ...process.env } },
);
const status = await suite.exited;
// A suite that was killed leaves no report.
const files = existsSync(report) ? slowestFiles(readFileSync(report, 'utf8')) : [];
rmSync(directory, { recursive: true });
process.stdout.write(`\nThe slowest ${files.length} files, in seconds of their tests:\n`);
for (const { file, seconds } of files) process.stdout.write(`${seconds.toFixed(1).padStart(7)}  ${file}\n`);
process.exitCode = status;
