/**
 * A project's contracts in a demo: the first answer, a transaction from its broadcast until the API has it, and a fork. Beside it, in the
 * same rounds, the demo whose contracts are simulated.
 */
import { mkdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { MAIN, type Server, script, startServer, withDirectory } from './harness.ts';
import { figure, publish, reportOptions } from './results.ts';

const { values } = parseArgs({
  options: {
    ...reportOptions,
    repeat: { type: 'string', default: '3' },
    /** A directory in which @stacks/clarinet-sdk is installed. */
    clarity: { type: 'string' },
    /** Before the fork. */
    transactions: { type: 'string', default: '1000' },
  },
});
if (values.clarity === undefined) {
  process.stderr.write('Name a directory in which @stacks/clarinet-sdk is installed, with --clarity.\n');
  process.exit(1);
}
const installed = join(resolve(values.clarity), 'node_modules');
const transactions = Number(values.transactions);

const DEPTH = 3;
const COUNTER = `(define-data-var n uint u0)
(define-public (note (text (string-ascii 80)) (translation (string-utf8 80)))
  (begin (var-set n (+ (var-get n) u1)) (print text) (print translation) (ok true)))`;
const ARGUMENTS = ['"hello"', 'u"hello"'];

interface Round {
  /** Milliseconds. */
  answered: number;
  /** Of the last hundred calls, each. */
  mined: number;
  fork: number;
  /** Of the first request after the fork that reads a contract's state. */
  read: number;
  /** Bytes of the server, without the engine's process. */
  memory: number;
}

async function steer<T>({ url }: Server, path: string, body: object): Promise<T> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/stackside/v1/devnet/${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  return (await response.json()) as T;
}

const LAST = 100;
const now = (): number => performance.now();

/** @param source of a contract with a function `note` @param options of the demo */
async function round(source: string, ...options: string[]): Promise<Round> {
  const begun = now();
  const ports = [
    '--api-port',
    '0',
    '--event-port',
    '0',
    '--interval',
    '0',
    '--past-blocks',
    '1',
    '--log-level',
    'error',
  ];
  const server = await startServer(script(MAIN, 'demo', ...ports, ...options));
  try {
    await (await fetch(`${server.url}/extended/v3/transactions`)).text();
    const answered = now() - begun;
    const { sender } = await steer<{ sender: string }>(server, 'deploy', { name: 'counter', source });
    const call = { contract: `${sender}.counter`, function: 'note', arguments: ARGUMENTS };
    for (let done = 0; done < transactions - LAST; done += 1) await steer(server, 'call', call);
    const from = now();
    for (let done = 0; done < LAST; done += 1) await steer(server, 'call', call);
    const mined = (now() - from) / LAST;
    const forking = now();
    await steer(server, 'fork', { depth: DEPTH });
    const fork = now() - forking;
    const reading = now();
    await (await fetch(`${server.url}/v2/data_var/${sender}/counter/n?proof=0`)).text();
    return { answered, mined, fork, read: now() - reading, memory: server.memory() };
  } finally {
    await server.stop();
  }
}

/** The source of the simulated contract that does the same. */
async function simulatedSource(): Promise<string> {
  const { templates } = await import('../src/devnet/traffic.ts');
  return templates.find(({ name }) => name === 'journal')!.source;
}

await withDirectory(async (directory) => {
  const project = join(directory, 'project');
  mkdirSync(project);
  symlinkSync(installed, join(project, 'node_modules'));
  const journal = await simulatedSource();
  const [real, simulated]: Round[][] = [[], []];
  for (let n = 0; n < Number(values.repeat); n += 1) {
    real!.push(await round(COUNTER, '--clarity', project));
    simulated!.push(await round(journal));
  }
  const row = (name: string, of: (one: Round) => number, digits = 0) => [
    name,
    figure(real!.map(of), digits),
    figure(simulated!.map(of), digits),
    figure(
      real!.map((one, at) => of(one) / of(simulated![at]!)),
      2,
    ),
  ];
  publish(
    [
      {
        title: "A project's contracts in a demo",
        notes: [
          `${transactions.toLocaleString('en-US')} calls before the fork of depth ${DEPTH}, each in a block of its own`,
          'a call is asked for by `POST /stackside/v1/devnet/call`, whose answer comes once the index has its block',
          'after the fork, the first read has the engine make its chain anew where the fork has not done so',
        ],
        tables: [
          {
            head: ['', 'real', 'simulated', 'real / simulated'],
            rows: [
              row('from the command to the first answer, ms', ({ answered }) => answered),
              row('a call from its request until the index has it, ms', ({ mined }) => mined, 1),
              row('the fork, ms', ({ fork }) => fork),
              row('the first read after it, ms', ({ read }) => read, 1),
              row('memory of the server without the engine, MB', ({ memory }) => memory / 1e6),
            ],
          },
        ],
      },
    ],
    { pinned: false },
  );
});
