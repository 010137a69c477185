/** Measures reads while events arrive at full speed, with and without an API thread. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { SEED } from './dataset.ts';
import { MAIN, ROOT, run, script, startServer, withDirectory } from './harness.ts';
import { type Cell, figure, publish, reportOptions } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '4' },
    connections: { type: 'string', default: '4' },
    program: { type: 'string' },
  },
});
const program = values.program === undefined ? script(MAIN) : [values.program];
/** Blocks at the start, and in all: more than the server can accept in the time. */
const [HISTORY, BLOCKS, TRANSACTIONS_PER_BLOCK] = [60, 400, 40];
const WARM_UP_SECONDS = 1;

interface Times {
  p50: number;
  p99: number;
}
interface Round {
  quiet: Times;
  busy: Times;
  events: number;
}

async function load(url: string, path: string): Promise<Times> {
  const loader = join(ROOT, 'bench/parts/load.ts');
  const options = [url, values.connections, String(WARM_UP_SECONDS), values.seconds, 'distinct', path];
  return JSON.parse((await run(script(loader, ...options))).stdout);
}

async function runRound(directory: string, threads: number): Promise<Round> {
  const ports = ['--api-host', '127.0.0.1', '--api-port', '0', '--event-port', '0', '--threads', String(threads)];
  const quietly = ['--log-level', 'error', '--node-rpc', 'http://127.0.0.1:1'];
  const server = await startServer([...program, 'serve', '--data', directory, ...ports, ...quietly]);
  const poster = join(ROOT, 'bench/parts/poster.ts');
  const chain = [SEED, HISTORY, BLOCKS, TRANSACTIONS_PER_BLOCK].map(String);
  const child = Bun.spawn(script(poster, server.events, ...chain), {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const output = child.stdout.getReader();
  await output.read();
  const path = '/extended/v3/transactions';
  const quiet = await load(server.url, path);
  child.stdin.write('go\n');
  child.stdin.end();
  const busy = await load(server.url, path);
  child.kill('SIGTERM');
  const line = new TextDecoder().decode((await output.read()).value);
  await child.exited;
  await server.stop();
  const { perSecond, ended } = JSON.parse(line) as { perSecond: number; ended?: boolean };
  if (ended === true) throw new Error('the events ended before the reads');
  return { quiet, busy, events: perSecond };
}

const rounds = new Map<number, Round[]>([
  [0, []],
  [1, []],
]);
for (let n = 0; n < Number(values.repeat); n++) {
  for (const [threads, results] of rounds) {
    await withDirectory(async (directory) => void results.push(await runRound(directory, threads)));
  }
}
publish(
  [
    {
      title: 'Reads while events arrive',
      notes: [
        `first pages of transactions, each URL once; ${values.connections} connections, ${values.seconds} s`,
        `events of blocks of ${TRANSACTIONS_PER_BLOCK} transactions on average, posted one after the other without a pause`,
        `${values.repeat} rounds; median (least to greatest); the ratio is of the same round`,
      ],
      tables: [
        {
          head: [
            '--threads',
            'p50, ms',
            'p99, ms',
            'p50 while events arrive, ms',
            'p99 while events arrive, ms',
            'ratio of p99',
            'events/s',
          ],
          rows: [...rounds].map(([threads, results]) => {
            const cell = (value: (round: Round) => number, digits = 0): Cell => figure(results.map(value), digits);
            return [
              String(threads),
              cell(({ quiet }) => quiet.p50, 2),
              cell(({ quiet }) => quiet.p99, 2),
              cell(({ busy }) => busy.p50, 2),
              cell(({ busy }) => busy.p99, 2),
              cell(({ quiet, busy }) => busy.p99 / quiet.p99, 1),
              cell(({ events }) => events),
            ];
          }),
        },
      ],
    },
  ],
  { pinned: false },
);
