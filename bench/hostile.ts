/** Measures how long an ordinary client waits while hostile clients attack each listener. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { postEvents } from '../src/devnet/node-event.ts';
import { devnetEvents } from '../src/devnet/scenario.ts';
import { attacks } from '../test/faults/hostile/attack.ts';
import { SEED } from './dataset.ts';
import { MAIN, onCore, ROOT, run, type Server, script, startServer, withDirectory } from './harness.ts';
import { FIRST_PAGE, ORDINARY } from './parts/ordinary-requests.ts';
import { type Cell, figure, publish, reportOptions } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '1' },
    connections: { type: 'string', default: '1' },
    threads: { type: 'string', default: '0' },
    program: { type: 'string' },
    attacked: { type: 'string' },
  },
});
const program = values.program === undefined ? script(MAIN) : [values.program];
/** Attacks. The first one is the control, to which the others are compared. */
const attacked = [ORDINARY, ...(values.attacked?.split(',') ?? Object.keys(attacks))];
/** Data on the server, so that the attackers can request it. */
const [HISTORY, BLOCKS, TRANSACTIONS_PER_BLOCK] = [60, 70, 40];
const WARM_UP_SECONDS = 0.2;
const PER_CENT = 100;

interface Times {
  p50: number;
  p99: number;
  /** The share of the time in which the client waited for its core. */
  waited: number;
}
interface Round {
  calm: Times;
  attacked: Times;
  perSecond: number;
}

async function polite(url: string): Promise<Times> {
  const loader = join(ROOT, 'bench/parts/load.ts');
  const options = [url, values.connections, String(WARM_UP_SECONDS), values.seconds, 'distinct', FIRST_PAGE];
  return JSON.parse((await run(onCore(1, script(loader, ...options)))).stdout);
}

/** Runs a command only while no other process needs its core. */
const yielding = Bun.which('chrt') === null ? ['nice', '-n', '19'] : ['chrt', '--idle', '0'];

/** Starts the attackers on the core of the ordinary client, which has priority. */
function attackers(server: Server, directory: string) {
  const chain = [SEED, BLOCKS, TRANSACTIONS_PER_BLOCK].map(String);
  const attacker = script(join(ROOT, 'bench/parts/attacker.ts'), server.url, server.events, directory, ...chain);
  const child = Bun.spawn([...yielding, ...onCore(1, attacker)], { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' });
  const output = child.stdout.getReader();
  const line = async (): Promise<string> => new TextDecoder().decode((await output.read()).value).trim();
  return {
    ready: line,
    /** Attacks a listener during `work`. @returns the result of `work`, and messages per second */
    async during<T>(name: string, work: () => Promise<T>): Promise<[T, number]> {
      child.stdin.write(`${name}\n`);
      await child.stdin.flush();
      const start = performance.now();
      const result = await work();
      child.stdin.write('\n');
      await child.stdin.flush();
      const messages = Number(await line());
      return [result, (messages * 1_000) / (performance.now() - start)];
    },
    async end(): Promise<void> {
      child.kill();
      await child.exited;
    },
  };
}

const mean = (a: Times, b: Times): Times => ({
  p50: (a.p50 + b.p50) / 2,
  p99: (a.p99 + b.p99) / 2,
  waited: (a.waited + b.waited) / 2,
});

async function measure(server: Server, directory: string, rounds: Map<string, Round[]>): Promise<void> {
  const chain = devnetEvents({ seed: SEED, blocks: HISTORY, transactionsPerBlock: TRANSACTIONS_PER_BLOCK });
  await postEvents(chain, server.events);
  const hostile = attackers(server, directory);
  await hostile.ready();
  // The first messages of each kind run code that is not compiled yet.
  for (const name of rounds.keys()) await hostile.during(name, () => polite(server.url));
  for (let n = 0; n < Number(values.repeat); n++) {
    let before = await polite(server.url);
    for (const [name, results] of rounds) {
      const [attacked, perSecond] = await hostile.during(name, () => polite(server.url));
      const after = await polite(server.url);
      results.push({ calm: mean(before, after), attacked, perSecond });
      before = after;
    }
  }
  await hostile.end();
}

const rounds = new Map<string, Round[]>(attacked.map((name) => [name, []]));
await withDirectory(async (directory) => {
  const ports = ['--api-host', '127.0.0.1', '--api-port', '0', '--event-port', '0', '--threads', values.threads];
  const quietly = ['--log-level', 'silent', '--node-rpc', 'http://127.0.0.1:1'];
  const server = await startServer(onCore(0, [...program, 'serve', '--data', directory, ...ports, ...quietly]));
  await measure(server, directory, rounds);
  await server.stop();
});

const control = rounds.get(ORDINARY)!;
publish([
  {
    title: 'Other clients while hostile ones attack',
    notes: [
      `first pages of transactions, each URL once; connections: ${values.connections}; ${values.seconds} s per slice`,
      `attackers use 8 connections and send as fast as they are answered; --threads ${values.threads}`,
      `${values.repeat} rounds; median (least to greatest) of each figure`,
      'ratios of p99: to the calm before and after, and to the control of the same round',
    ],
    tables: [
      {
        head: [
          'attacked',
          'messages/s',
          'calm p50, ms',
          'p50, ms',
          'calm p99, ms',
          'p99, ms',
          'ratio to calm',
          'ratio to ordinary',
          'client waited, %',
        ],
        rows: [...rounds].map(([name, results]) => {
          const cell = (value: (round: Round) => number, digits = 0): Cell => figure(results.map(value), digits);
          return [
            name,
            cell(({ perSecond }) => perSecond),
            cell(({ calm }) => calm.p50, 2),
            cell(({ attacked }) => attacked.p50, 2),
            cell(({ calm }) => calm.p99, 2),
            cell(({ attacked }) => attacked.p99, 2),
            cell(({ calm, attacked }) => attacked.p99 / calm.p99, 1),
            figure(
              results.map(({ attacked }, round) => attacked.p99 / control[round]!.attacked.p99),
              1,
            ),
            cell(({ attacked }) => attacked.waited * PER_CENT, 1),
          ];
        }),
      },
    ],
  },
]);
