/** How fast events are accepted that a node posts one after the other, beside an import of the same events. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { directoryStatus } from '../src/store/files/status.ts';
import { BLOCKS, devnetRecording, SEED } from './dataset.ts';
import { MAIN, onCore, ROOT, run, script, startServer, withDirectory } from './harness.ts';
import { type Cell, figure, publish, reportOptions } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '3' },
    blocks: { type: 'string', default: String(BLOCKS) },
    program: { type: 'string' },
  },
});
const repeat = Number(values.repeat);
const program = values.program === undefined ? script(MAIN) : [values.program];
const quietly = ['--log-level', 'error', '--node-rpc', 'http://127.0.0.1:1'];
const ports = ['--api-host', '127.0.0.1', '--api-port', '0', '--event-port', '0'];

interface Taken {
  /** Without the start of the process. */
  seconds: number;
  cpuSeconds: number;
}

/** Posts the recording to a new server, which has no clients. */
async function live(file: string, directory: string): Promise<Taken & { events: number }> {
  const server = await startServer(onCore(0, [...program, 'serve', '--data', directory, ...ports, ...quietly]));
  const cpuBefore = server.cpuSeconds();
  const poster = script(join(ROOT, 'bench', 'parts', 'post-recording.ts'), file, server.events);
  const posted: { seconds: number; events: number } = JSON.parse((await run(onCore(1, poster))).stdout);
  const cpuSeconds = server.cpuSeconds() - cpuBefore;
  await server.stop();
  return { ...posted, cpuSeconds };
}

const imported = (file: string, directory: string): Promise<Taken> =>
  run(onCore(0, [...program, 'import', file, '--data', directory, ...quietly.slice(0, 2)]));

/** Both, one after the other. @param liveFirst the order alternates, since the machine changes */
async function round(file: string, liveFirst: boolean) {
  return withDirectory(async (directory) => {
    const [asNode, atOnce] = [join(directory, 'live'), join(directory, 'import')];
    const first = liveFirst ? await live(file, asNode) : null;
    const whole = await imported(file, atOnce);
    const posted = first ?? (await live(file, asNode));
    const { transactions } = directoryStatus(asNode);
    if (directoryStatus(atOnce).transactions !== transactions) throw new Error('the two indexes differ');
    return { whole, posted, transactions };
  });
}

const file = await devnetRecording(Number(values.blocks));
const rounds: Awaited<ReturnType<typeof round>>[] = [];
for (let n = 0; n < repeat; n++) rounds.push(await round(file, n % 2 === 0));
type Round = (typeof rounds)[number];
const row = (name: string, of: (one: Round) => number, digits = 0): Cell[] => [name, figure(rounds.map(of), digits)];

publish([
  {
    title: 'Live ingest',
    notes: [
      `input: simulated chain of seed ${SEED}, ${values.blocks} blocks, ${rounds[0]!.transactions} transactions`,
      'events posted one after the other, over one connection; no client of the API, no chainhooks',
      `${repeat} rounds: median (least to greatest); ratios are of the same round`,
    ],
    tables: [
      {
        head: ['figure', 'value'],
        rows: [
          row('events/s', ({ posted }) => posted.events / posted.seconds),
          row('transactions/s', ({ posted, transactions }) => transactions / posted.seconds),
          row('seconds', ({ posted }) => posted.seconds, 2),
          row('processor seconds', ({ posted }) => posted.cpuSeconds, 2),
          row('import, transactions/s', ({ whole, transactions }) => transactions / whole.seconds),
          row('import, seconds', ({ whole }) => whole.seconds, 2),
          row('import, processor seconds', ({ whole }) => whole.cpuSeconds, 2),
          row('rate of live ingest / import', ({ whole, posted }) => whole.seconds / posted.seconds, 2),
          row('the same by processor time', ({ whole, posted }) => whole.cpuSeconds / posted.cpuSeconds, 2),
        ],
      },
    ],
  },
]);
