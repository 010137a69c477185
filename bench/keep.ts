/** Runs a benchmark in this working tree and keeps its result, from which the documentation is made. */
import { parseArgs } from 'node:util';
import { ROOT } from './harness.ts';
import { reportOf } from './parts/comparison.ts';
import { keep } from './results.ts';

const { positionals } = parseArgs({ allowPositionals: true });
const [name, bench, ...options] = positionals;
if (name === undefined || bench === undefined) {
  process.stderr.write('Usage: bun bench/keep.ts NAME BENCH [-- OPTION…]\n');
  process.exit(1);
}
keep(name, { command: `bench/${bench}.ts ${options.join(' ')}`.trim(), ...(await reportOf(ROOT, bench, options)) });
