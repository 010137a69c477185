/** How much longer reads take while events are taken at full speed, with and without a thread of their own. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { SEED } from './dataset.ts';
import { heading, MAIN, ROOT, run, say, script, shown, startServer, table, withDirectory } from './harness.ts';

const { values } = parseArgs({
  options: {
    repeat: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '4' },
    connections: { type: 'string', default: '4' },
    program: { type: 'string' },
  },
});
const program = values.program === undefined ? script(MAIN) : [values.program];
/** There from the start, and in all: more than are taken in the time. */
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

async function round(directory: string, threads: number): Promise<Round> {
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
  const said = new TextDecoder().decode((await output.read()).value);
  await child.exited;
  await server.stop();
  const { perSecond, ended } = JSON.parse(said) as { perSecond: number; ended?: boolean };
  if (ended === true) throw new Error('the events ended before the reads');
  return { quiet, busy, events: perSecond };
}

const rounds = new Map<number, Round[]>([
  [0, []],
  [1, []],
]);
for (let n = 0; n < Number(values.repeat); n++) {
  for (const [threads, results] of rounds) {
    await withDirectory(async (directory) => void results.push(await round(directory, threads)));
  }
}
heading('Reads while events are taken', false);
say(`- first pages of transactions, each URL once; ${values.connections} connections, ${values.seconds} s`);
say(
  `- events of blocks of ${TRANSACTIONS_PER_BLOCK} transactions on average, posted one after the other without a pause`,
);
say(`- ${values.repeat} rounds; median (least to greatest); the ratio is of the same round`);
say();
table(
  ['--threads', 'p50, ms', 'p99, ms', 'p50 while taking, ms', 'p99 while taking, ms', 'ratio of p99', 'events/s'],
  [...rounds].map(([threads, results]) => [
    String(threads),
    shown(
      results.map(({ quiet }) => quiet.p50),
      2,
    ),
    shown(
      results.map(({ quiet }) => quiet.p99),
      2,
    ),
    shown(
      results.map(({ busy }) => busy.p50),
      2,
    ),
    shown(
      results.map(({ busy }) => busy.p99),
      2,
    ),
    shown(
      results.map(({ quiet, busy }) => busy.p99 / quiet.p99),
      1,
    ),
    shown(results.map(({ events }) => events)),
  ]),
);
