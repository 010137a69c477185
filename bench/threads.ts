/** Measures requests per second with and without API threads, on all cores. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BLOCKS, devnetRecording, importInto, SEED } from './dataset.ts';
import { MAIN, ROOT, run, type Server, script, startServer, withDirectory } from './harness.ts';
import { type Cell, figure, publish, reportOptions } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '3' },
    blocks: { type: 'string', default: String(BLOCKS) },
    threads: { type: 'string', default: '0,1,2' },
    connections: { type: 'string', default: '32' },
    seconds: { type: 'string', default: '3' },
    path: { type: 'string', default: '/extended/v3/transactions' },
    program: { type: 'string' },
  },
});
const program = values.program === undefined ? script(MAIN) : [values.program];
/** Each thread compiles its code; until then, requests cost several times as much. */
const WARM_UP_SECONDS = 3;
const MICROSECONDS = 1e6;

/** Processor time per request, in microseconds. */
interface Cost {
  perSecond: number;
  server: number;
  /** The busiest thread of the server. With one core per thread, it limits the rate. */
  busiest: number;
  generator: number;
}

async function load(url: string, seconds: number): Promise<{ perSecond: number; answered: number; busy: number }> {
  const loader = join(ROOT, 'bench/parts/load.ts');
  const options = [url, values.connections, '0', String(seconds), 'distinct', values.path];
  return JSON.parse((await run(script(loader, ...options))).stdout);
}

async function costOf(directory: string, threads: number): Promise<Cost> {
  const ports = ['--api-host', '127.0.0.1', '--api-port', '0', '--event-port', '0', '--threads', String(threads)];
  const quietly = ['--log-level', 'error', '--node-rpc', 'http://127.0.0.1:1'];
  const server = await startServer([...program, 'serve', '--data', directory, ...ports, ...quietly]);
  try {
    return await costOfServer(server);
  } finally {
    await server.stop();
  }
}

async function costOfServer(server: Server): Promise<Cost> {
  await load(server.url, WARM_UP_SECONDS);
  const [before, beforeByThread] = [server.cpuSeconds(), server.threadSeconds()];
  const { perSecond, answered, busy } = await load(server.url, Number(values.seconds));
  const each = (seconds: number): number => (seconds * MICROSECONDS) / answered;
  const worked = [...server.threadSeconds()].map(([id, seconds]) => seconds - (beforeByThread.get(id) ?? 0));
  return {
    perSecond,
    server: each(server.cpuSeconds() - before),
    busiest: each(Math.max(0, ...worked)),
    generator: (busy * MICROSECONDS) / perSecond,
  };
}

const costs = new Map<number, Cost[]>(values.threads.split(',').map((threads) => [Number(threads), []]));
await withDirectory(async (directory) => {
  await importInto(directory, await devnetRecording(Number(values.blocks)));
  for (let n = 0; n < Number(values.repeat); n++) {
    for (const [threads, results] of costs) results.push(await costOf(directory, threads));
  }
});

const base = [...costs.values()][0]!;
publish(
  [
    {
      title: 'Threads',
      notes: [
        `data: simulated chain of seed ${SEED}, ${values.blocks} blocks`,
        `${values.path}, each URL once; ${values.connections} connections, ${values.seconds} s after ${WARM_UP_SECONDS} s of warm-up; server and load generator share all cores`,
        `${values.repeat} rounds; median (least to greatest); ratios are to the first row, of the same round`,
        'µs: processor time per request; last column: requests per second compared with the first row, if each thread and the generator had a core',
      ],
      tables: [
        {
          head: [
            '--threads',
            'requests/s',
            'ratio',
            'server, µs',
            'its busiest thread, µs',
            'generator, µs',
            'ratio with enough cores',
          ],
          rows: [...costs].map(([threads, results]): Cell[] => {
            const cell = (value: (cost: Cost, round: number) => number, digits = 0): Cell =>
              figure(results.map(value), digits);
            return [
              String(threads),
              cell(({ perSecond }) => perSecond),
              cell(({ perSecond }, round) => perSecond / base[round]!.perSecond, 2),
              cell(({ server }) => server, 1),
              cell(({ busiest }) => busiest, 1),
              cell(({ generator }) => generator, 1),
              cell(({ busiest }, round) => base[round]!.busiest / busiest, 2),
            ];
          }),
        },
      ],
    },
  ],
  { pinned: false },
);
