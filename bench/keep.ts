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
/** The options as others can give them: where this machine has its data says nothing to them. */
const shown = options.map((option, n) => (options[n - 1] === '--data' ? 'DIR' : option));
keep(name, { command: `bench/${bench}.ts ${shown.join(' ')}`.trim(), ...(await reportOf(ROOT, bench, options)) });
