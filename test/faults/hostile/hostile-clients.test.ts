/**
 * Clients that send what nobody meant, to every listener of the program: it goes on, answers everybody else, and fails in
 * nothing. STACKSIDE_RUNS for more messages, STACKSIDE_SEED for others.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { postEvents } from '../../../src/devnet/post.ts';
import { devnetEvents } from '../../../src/devnet/scenario.ts';
import { type Server, startServer, temporaryDirectory } from '../../e2e/stackside.ts';
import { casesOf, firstSeed, timeout } from '../../support/property.ts';
import { getRoutes, Subjects } from '../../support/random-urls.ts';
import { attack, attacks, type Tally, type Target } from './attack.ts';

/** To each listener. */
const MESSAGES = casesOf(400);
/** Bytes that the program may take, whatever is sent to it. */
const MEMORY = 700_000_000;

let directory: ReturnType<typeof temporaryDirectory>;
let server: Server;
let target: Target;

beforeAll(async () => {
  const stream = [...devnetEvents({ seed: 3, blocks: 30, transactionsPerBlock: 4, forkEvery: 8, accounts: 12 })];
  directory = temporaryDirectory();
  server = await startServer(
    'serve',
    ...['--data', directory.path, '--log-level', 'silent', '--hook-access', 'open', '--node-rpc', 'http://127.0.0.1:1'],
  );
  // What follows is news to it.
  await postEvents(stream.slice(0, Math.floor(stream.length / 2)), server.events);
  const subjects = new Subjects();
  for (const event of stream) subjects.add(event);
  const document = await (await fetch(`${server.api}/docs/json`)).json();
  target = { ...server, routes: getRoutes(document), subjects, stream };
});
afterAll(async () => {
  await server.stop();
  directory.remove();
});

/** Answers of 5xx but for what really failed: no node is there to pass a request on to. */
const failures = ({ answers }: Tally) => [...answers].filter(([answer]) => /^5\d\d$/.test(answer) && answer !== '502');

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${server.api}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith(name));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

/** Bytes of memory that the process holds; 0 where the system doesn't say. */
function memoryOf(pid: number): number {
  if (process.platform !== 'linux') return 0;
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) * 1_024;
}

/** Asks as anybody would while the others attack. @returns what stops it, and gives the answers it had */
function politeClient(): () => Promise<number[]> {
  const statuses: number[] = [];
  let running = true;
  const asking = (async () => {
    while (running) statuses.push((await fetch(`${server.api}/extended/v3/transactions`)).status);
  })();
  return async () => {
    running = false;
    await asking;
    return statuses;
  };
}

test.each(Object.keys(attacks))(
  'hostile messages by %s cost nobody anything',
  async (name) => {
    const stop = politeClient();
    const tally = await attack(name, target, MESSAGES, String(firstSeed));
    const statuses = await stop();
    expect(failures(tally)).toEqual([]);
    expect(tally.answers.size).toBeGreaterThan(0);
    expect([...new Set(statuses)]).toEqual([200]);
    expect([await metric('websocket_failed_total'), await metric('socket_io_failed_total')]).toEqual([0, 0]);
    expect(memoryOf(server.pid)).toBeLessThan(MEMORY);
  },
  timeout,
);
