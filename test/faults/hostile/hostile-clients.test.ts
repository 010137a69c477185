/**
 * Hostile clients send invalid messages to every listener of the program, on the main thread and on an API thread: the
 * program continues and answers all other clients. The environment is hostile as well: it names a proxy, which must get no
 * request. STACKSIDE_RUNS for more messages, STACKSIDE_SEED for others.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { postEvents } from '../../../src/devnet/node-event.ts';
import { devnetEvents } from '../../../src/devnet/scenario.ts';
import { readAdminKey } from '../../../src/hooks/access/keys.ts';
import { type Server, startServerIn } from '../../e2e/stackside.ts';
import { routesOf, Subjects } from '../../support/api/random-urls.ts';
import { type DataDirectory, dataDirectory } from '../../support/data/data-directory.ts';
import { casesOf, firstSeed } from '../../support/property.ts';
import { metricOf } from '../../support/servers/metrics.ts';
import { standInNode } from '../../support/servers/stand-in-node.ts';
import { until } from '../../support/time/until.ts';
import { attack, attacks, OPEN_TO_STRANGERS, type Tally, type Target } from './attack.ts';
import { watch } from './witness.ts';

/** Number of messages to each listener. */
const MESSAGES = casesOf(100);
/** Maximum growth of the program's memory under any messages, in bytes. */
const MEMORY = 200_000_000;
/** Milliseconds that the server may take for an answer while it is attacked. */
const SLOWEST = 2_000;
/** Milliseconds of processor time that the server may use for an answer. A quarter is usual, also on a busy machine. */
const BUSIEST = 500;

const stream = [...devnetEvents({ seed: 3, blocks: 30, transactionsPerBlock: 4, forkEvery: 8, accounts: 12 })];
const node = standInNode();
const overheard: string[] = [];
/** The proxy that the environment names. */
const proxy = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch({ method, url }) {
    overheard.push(`${method} ${url}`);
    return new Response(null, { status: 502 });
  },
});
const proxyUrl = proxy.url.origin;
const environment = { HTTP_PROXY: proxyUrl, http_proxy: proxyUrl, ALL_PROXY: proxyUrl, NO_PROXY: '', no_proxy: '' };

afterAll(async () => {
  node[Symbol.dispose]();
  await proxy.stop(true);
});

/** Reports whether an answer is a server failure, of HTTP or WebSocket; 505 is the runtime's answer to an unknown version. */
const isFailure = (answer: string): boolean =>
  (/^5\d\d$/.test(answer) && answer !== '505') || ['1011', OPEN_TO_STRANGERS].includes(answer);
const failures = ({ answers }: Tally) => [...answers].filter(([answer]) => isFailure(answer));

/** Stops a server as an operator would. @throws Error if it must be killed */
async function stopServer(server: Server): Promise<void> {
  const codes: number[] = [];
  void server.stop().then((code) => codes.push(code));
  try {
    await until(() => codes.length > 0, 'the end of the server');
  } finally {
    if (codes.length === 0) await server.stop('SIGKILL');
  }
  expect(codes).toEqual([0]);
}

describe.each([
  ['the main thread', '0', Object.keys(attacks)],
  ['a thread of the API', '1', ['HTTP']],
])('hostile messages to %s neither stop the server nor delay others:', (_, threads, names) => {
  let directory: DataDirectory;
  let server: Server;
  let target: Target;

  beforeAll(async () => {
    directory = dataDirectory();
    server = await startServerIn(
      environment,
      'serve',
      ...['--data', directory.path, '--log-level', 'silent', '--node-rpc', node.url, '--threads', threads],
    );
    // The following events are new to the server.
    await postEvents(stream.slice(0, Math.floor(stream.length / 2)), server.events);
    const subjects = new Subjects();
    for (const event of stream) subjects.add(event);
    const document = await (await fetch(`${server.api}/docs/json`)).json();
    target = { ...server, key: readAdminKey(directory.path) ?? '', routes: routesOf(document), subjects, stream };
  });
  afterAll(async () => {
    await stopServer(server);
    directory[Symbol.dispose]();
  });

  test.each(names)('%s', async (name) => {
    const attacking = attack(name, target, MESSAGES, String(firstSeed));
    const seen = await watch(server.pid, `${server.api}/extended/v3/transactions`, attacking);
    const tally = await attacking;
    expect(failures(tally)).toEqual([]);
    expect(tally.answers.size).toBeGreaterThan(0);
    expect([...seen.statuses]).toEqual([200]);
    expect(seen.slowest).toBeLessThan(SLOWEST);
    expect(seen.busiest).toBeLessThan(BUSIEST);
    expect(seen.growth).toBeLessThan(MEMORY);
    for (const way of ['websocket', 'socket_io']) expect(await metricOf(server.events, `${way}_failed_total`)).toBe(0);
    expect(overheard).toEqual([]);
  });
});
