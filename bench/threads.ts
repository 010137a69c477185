/** How much more the API serves with threads of its own, on all cores of the machine. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BLOCKS, devnetRecording, importInto, SEED } from './dataset.ts';
import { MAIN, ROOT, run, script, startServer, withDirectory } from './harness.ts';
import { type Cell, figure, publish, reportOptions } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '3' },
    blocks: { type: 'string', default: String(BLOCKS) },
    threads: { type: 'string', default: '0,1,2' },
    connections: { type: 'string', default: '32' },
    seconds: { type: 'string', default: '3' },
    program: { type: 'string' },
  },
});
const program = values.program === undefined ? script(MAIN) : [values.program];
const WARM_UP_SECONDS = 1;
/** Dear enough that the load generator leaves the server most of two cores. */
const PATH = '/extended/v3/transactions';

async function perSecond(directory: string, threads: number): Promise<number> {
  const ports = ['--api-host', '127.0.0.1', '--api-port', '0', '--event-port', '0', '--threads', String(threads)];
  const quietly = ['--log-level', 'error', '--node-rpc', 'http://127.0.0.1:1'];
  const server = await startServer([...program, 'serve', '--data', directory, ...ports, ...quietly]);
  const loader = join(ROOT, 'bench/parts/load.ts');
  const options = [server.url, values.connections, String(WARM_UP_SECONDS), values.seconds, 'distinct', PATH];
  const { stdout } = await run(script(loader, ...options));
  await server.stop();
  return JSON.parse(stdout).perSecond;
}

const rates = new Map<number, number[]>(values.threads.split(',').map((threads) => [Number(threads), []]));
await withDirectory(async (directory) => {
  await importInto(directory, await devnetRecording(Number(values.blocks)));
  for (let n = 0; n < Number(values.repeat); n++) {
    for (const [threads, found] of rates) found.push(await perSecond(directory, threads));
  }
});

const base = [...rates.values()][0]!;
publish(
  [
    {
      title: 'Threads',
      notes: [
        `data: simulated chain of seed ${SEED}, ${values.blocks} blocks`,
        `first pages of transactions, each URL once; ${values.connections} connections, ${values.seconds} s; server and load generator share all cores`,
        `${values.repeat} rounds; median (least to greatest); the ratio is to the first row, of the same round`,
      ],
      tables: [
        {
          head: ['--threads', 'requests/s', 'ratio'],
          rows: [...rates].map(([threads, found]): Cell[] => [
            String(threads),
            figure(found),
            figure(
              found.map((rate, round) => rate / base[round]!),
              2,
            ),
          ]),
        },
      ],
    },
  ],
  { pinned: false },
);
