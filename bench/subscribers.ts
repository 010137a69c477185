/** Measures realtime: memory per subscriber, and the time from a block's 200 until the last subscriber has the message. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { postEvent } from '../src/devnet/node-event.ts';
import { devnetEvents } from '../src/devnet/scenario.ts';
import { SEED } from './dataset.ts';
import { MAIN, onCore, ROOT, type Server, script, startServer, withDirectory } from './harness.ts';
import { type Cell, figure, publish, reportOptions } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '3' },
    idle: { type: 'string', default: '5000' },
    busy: { type: 'string', default: '500' },
    blocks: { type: 'string', default: '30' },
    program: { type: 'string' },
  },
});
const program = values.program === undefined ? script(MAIN) : [values.program];
const [idle, busy, blocks] = [Number(values.idle), Number(values.busy), Number(values.blocks)];
const HISTORY = 20;
const TRANSACTIONS_PER_BLOCK = 40;

interface Round {
  /** Bytes per subscriber. */
  memory: number;
  /** Milliseconds from a block's 200 to its last message. */
  times: number[];
  /** Milliseconds of processor time per message. */
  cpu: number;
}

/** Returns the Unix time in milliseconds, with fractions. */
const now = (): number => performance.timeOrigin + performance.now();
const pause = () => Bun.sleep(1500);

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Record<string, unknown>> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) yield JSON.parse(line);
  }
}

async function notify(server: Server, protocol: string): Promise<Round> {
  const events = [
    ...devnetEvents({
      seed: SEED,
      blocks: HISTORY + blocks,
      transactionsPerBlock: TRANSACTIONS_PER_BLOCK,
      forkEvery: 0,
    }),
  ];
  const height = (body: string): number => JSON.parse(body).block_height;
  const start = events.findIndex(({ path, body }) => path === '/new_block' && height(body) === HISTORY) + 1;
  for (const event of events.slice(0, start)) await postEvent(event, server.events);
  await pause();
  const memoryBefore = server.memory();
  const client = script(join(ROOT, 'bench/parts/subscribers.ts'), server.url, String(idle), String(busy), protocol);
  const child = Bun.spawn(onCore(1, client), { stdout: 'pipe', stderr: 'inherit' });
  const lines = linesOf(child.stdout);
  await lines.next();
  await pause();
  const memory = (server.memory() - memoryBefore) / (idle + busy);
  const cpuBefore = server.cpuSeconds();
  const times: number[] = [];
  let messages = 0;
  for (const event of events.slice(start)) {
    await postEvent(event, server.events);
    if (event.path !== '/new_block') continue;
    const answered = now();
    const { value } = await lines.next();
    times.push(Number(value?.at) - answered);
    messages = Number(value?.others) + times.length * busy;
  }
  const cpu = ((server.cpuSeconds() - cpuBefore) * 1000) / messages;
  child.kill();
  await child.exited;
  return { memory, times, cpu };
}

const rounds = new Map<string, Round[]>([
  ['WebSocket', []],
  ['Socket.IO', []],
]);
for (let n = 0; n < Number(values.repeat); n++) {
  for (const [name, results] of rounds) {
    await withDirectory(async (directory) => {
      const ports = ['--api-host', '127.0.0.1', '--api-port', '0', '--event-port', '0'];
      const quiet = ['--log-level', 'error', '--node-rpc', 'http://127.0.0.1:1'];
      const server = await startServer(onCore(0, [...program, 'serve', '--data', directory, ...ports, ...quiet]));
      results.push(await notify(server, name.toLowerCase()));
      await server.stop();
    });
  }
}

publish([
  {
    title: 'Subscribers',
    notes: [
      `${idle} idle subscribers; ${busy} that receive ${blocks} blocks of ${TRANSACTIONS_PER_BLOCK} transactions, and the mempool`,
      `${values.repeat} rounds; median (least to greatest)`,
    ],
    tables: [
      {
        head: ['', 'KB each', 'ms from 200 to the last', 'slowest, ms', 'CPU µs a message'],
        rows: [...rounds].map(([name, results]) => {
          const cell = (value: (round: Round) => number): Cell => figure(results.map(value), 1);
          return [
            name,
            cell(({ memory }) => memory / 1024),
            figure(
              results.flatMap(({ times }) => times),
              1,
            ),
            cell(({ times }) => Math.max(...times)),
            cell(({ cpu }) => cpu * 1000),
          ];
        }),
      },
    ],
  },
]);
