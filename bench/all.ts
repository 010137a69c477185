/**
 * The benchmarks whose figures have goals, at another revision and in this working tree, in turn. Their results are kept,
 * and the documentation is made from them.
 */
import { parseArgs } from 'node:util';
import { run, say, script, withDirectory } from './harness.ts';
import { compared, unpack } from './parts/comparison.ts';
import { keep } from './results.ts';

/** What the figures are compared with, unless another revision is named. */
const REFERENCE = '407acd8';

interface Planned {
  bench: string;
  options: string;
  rounds: number;
}

/** By the name of the result. Ordered by what matters most, should there be no time for all. */
const PLAN: Readonly<Record<string, Planned>> = {
  live: { bench: 'live', options: '--blocks 300', rounds: 2 },
  ingest: { bench: 'ingest', options: '--blocks 500 --longer 10 --genesis 1', rounds: 1 },
  'http-distinct': { bench: 'http', options: '--distinct --blocks 300 --seconds 1.5 --warm-up 0.5', rounds: 2 },
  http: { bench: 'http', options: '--blocks 300 --seconds 1 --warm-up 0.5', rounds: 1 },
  hooks: { bench: 'hooks', options: '--blocks 300 --queue 10000', rounds: 1 },
  start: { bench: 'start', options: '--build --blocks 300 --repeat 15', rounds: 1 },
  check: { bench: 'check', options: '--sizes 1300', rounds: 1 },
  'under-ingest': { bench: 'under-ingest', options: '--seconds 3', rounds: 1 },
  subscribers: { bench: 'subscribers', options: '--blocks 15', rounds: 1 },
  threads: { bench: 'threads', options: '--blocks 300 --threads 0,2 --seconds 2', rounds: 1 },
};

const { values, positionals } = parseArgs({
  options: { reference: { type: 'string', default: REFERENCE } },
  allowPositionals: true,
});
const names = positionals.length === 0 ? Object.keys(PLAN) : positionals;
const unknown = names.find((name) => PLAN[name] === undefined);
if (unknown !== undefined) {
  process.stderr.write(`${unknown} is none of ${Object.keys(PLAN).join(', ')}.\n`);
  process.exit(1);
}

/** Measures one of the plan and keeps it. @param tree where the reference is unpacked */
async function measure(name: string, tree: string): Promise<void> {
  const { bench, options, rounds } = PLAN[name]!;
  const { now, reference } = await compared(tree, bench, options.split(' '), rounds);
  const command = `bench/${bench}.ts ${options}`;
  keep(name, { command, ...now, reference: { revision: values.reference, sections: reference } });
}

const started = performance.now();
await withDirectory(async (tree) => {
  await unpack(values.reference, tree);
  for (const name of names) {
    try {
      await measure(name, tree);
    } catch (error) {
      // The others are measured all the same: a quiet machine is rare.
      process.stderr.write(`${name} was not measured: ${error}\n`);
      process.exitCode = 1;
    }
    say(`${Math.round((performance.now() - started) / 1000)} s so far`);
  }
});
say((await run(script(`${import.meta.dir}/report.ts`))).stdout.trimEnd());
