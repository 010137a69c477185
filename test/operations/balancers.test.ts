/** The documented configurations of load balancers, each with a hostile client. */
import { afterAll, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { MAX_WAIT_MS } from '../../src/http/heights.ts';
import { attack, type Target } from '../faults/hostile/attack.ts';
import { routesOf, Subjects } from '../support/api/random-urls.ts';
import { casesOf, firstSeed } from '../support/property.ts';
import { cutProxy } from '../support/servers/cut-proxy.ts';
import { rawExchange } from '../support/servers/raw-http.ts';
import { serving } from '../support/servers/serving.ts';
import {
  describeWith,
  freePort,
  programNamed,
  serverDirectory,
  startAsServer,
} from '../support/servers/system-servers.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';

const textOf = (path: string): string => readFileSync(join(import.meta.dir, '../..', path), 'utf8');

/** Waits for a height that no chain has end when the test passes them. */
const clock = heldClock([MAX_WAIT_MS]);
const stream = [...devnetEvents({ seed: 3, blocks: 6, transactionsPerBlock: 1, accounts: 4 })];
const HOSTS = ['10.0.0.1', '10.0.0.2', '10.0.0.3'];

const server = await serving({}, undefined, {}, { clock });
await server.post(stream);
const portOf = (url: string) => Number(new URL(url).port);
/** No other process gets the port of a host that is down. */
const hostOf = (url: string) => cutProxy(portOf(url), freePort());
const hosts = HOSTS.map(() => ({ api: hostOf(server.api), events: hostOf(server.events) }));
const subjects = new Subjects();
for (const event of stream) subjects.add(event);
const routes = routesOf(await (await server.get('/docs/json')).json());
const target: Target = { api: '', events: '', key: '', routes, subjects, stream };
afterAll(async () => {
  for (const { api, events } of hosts) for (const proxy of [api, events]) proxy[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

/** Replaces the addresses of a printed example with those of this test. */
const withHosts = (text: string): string =>
  HOSTS.reduce(
    (changed, host, index) =>
      changed
        .replaceAll(`${host}:3999`, `127.0.0.1:${hosts[index]!.api.port}`)
        .replaceAll(`${host}:3700`, `127.0.0.1:${hosts[index]!.events.port}`),
    text,
  );

/**
 * Starts a balancer.
 * @param command starts the balancer with a file
 * @param ports ports where it listens; the first is for readers
 */
async function start(configuration: string, command: (file: string) => string[], port: number) {
  const directory = serverDirectory();
  const file = join(directory.path, 'configuration');
  writeFileSync(file, configuration.replaceAll('DIRECTORY', directory.path));
  const api = `http://127.0.0.1:${port}`;
  const answers = async () => (await fetch(api).catch(() => null)) !== null;
  const running = await startAsServer(command(file), answers);
  return {
    api,
    async [Symbol.asyncDispose]() {
      await running.end('SIGTERM');
      directory[Symbol.dispose]();
    },
  };
}

/**
 * Returns the status codes that a reader receives while another client tries to get the hosts removed from the
 * balancer.
 */
async function answersBeside(api: string, attacks: () => Promise<unknown>): Promise<Set<number>> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  const attacking = attacks();
  attacking.then(end, end);
  const seen = new Set<number>();
  const read = async () => {
    const response = await fetch(`${api}/extended/v3/transactions`);
    await response.arrayBuffer();
    seen.add(response.status);
  };
  await until(async () => {
    clock.pass(MAX_WAIT_MS);
    await read();
    return isOver;
  }, 'the end of the attack');
  await attacking;
  await read();
  return seen;
}

/** Requests for a height that no host has. */
async function unreachable(api: string): Promise<void> {
  const headers = { 'stackside-min-height': '4294967295' };
  for (let round = 0; round < 3; round++) {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => fetch(`${api}/extended/v3/transactions`, { headers })),
    );
    // A balancer may try a host that is down last.
    for (const { status } of answers) expect([502, 503]).toContain(status);
    await Promise.all(answers.map((answer) => answer.arrayBuffer()));
  }
}

/** Returns the status of a path that is sent as it is written. */
async function statusOf(api: string, path: string): Promise<number> {
  const { host } = new URL(api);
  return (await rawExchange(api, `GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)).status;
}

const bodyOf = async (api: string, path: string): Promise<string> => (await fetch(`${api}${path}`)).text();

/** Returns the status of /metrics in several spellings. */
async function metricsStatuses(api: string): Promise<number[]> {
  const spellings = [
    ...['/metrics', '/metrics?a=b', '/%6detrics', '//metrics', '/./metrics', '/a/../metrics', `${api}/metrics`],
    ...['/metrics/', '/metrics//', '/metrics/.', '/metrics/x/..', '/a/%2e%2e/metrics/', '/metrics\\', '/\\metrics'],
  ];
  return Promise.all(spellings.map((path) => statusOf(api, path)));
}

/** Public routes whose last part is chosen by the client. */
const PUBLIC = ['/v1/names/metrics', '/v2/contracts/interface/ST000000000000000000002AMW42H/metrics'];

async function requireUnharmed(api: string): Promise<void> {
  expect([...(await answersBeside(api, () => unreachable(api)))]).toEqual([200]);
  const hostile = () => attack('HTTP', { ...target, api }, casesOf(200), String(firstSeed));
  expect([...(await answersBeside(api, hostile))]).toEqual([200]);
}

/** Checks that a balancer hides the metrics, passes on public routes, and keeps its hosts under attack. */
async function requireSafe(api: string): Promise<void> {
  expect(await metricsStatuses(api)).not.toContain(200);
  // Routes that only end in /metrics.
  for (const path of PUBLIC) expect(await bodyOf(api, path)).toEqual(await bodyOf(server.api, path));
  await requireUnharmed(api);
}

const nginx = programNamed('nginx');

describeWith('nginx', nginx !== null, () => {
  const around = (inHttp: string): string =>
    [
      ...['daemon off;', 'pid DIRECTORY/pid;', 'error_log DIRECTORY/errors;', 'events { worker_connections 256; }'],
      ...['http {', 'access_log off;'],
      ...['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path DIRECTORY/${name};`),
      ...[inHttp, '}', ''],
    ].join('\n');
  const command = (file: string) => [nginx!, '-e', 'stderr', '-c', file];

  test("nginx.conf: a client can't take hosts out, and a host that is down is skipped", async () => {
    const block = textOf('packaging/balancers/nginx.conf');
    const port = freePort();
    const configuration = around(withHosts(block).replace('listen 80;', `listen 127.0.0.1:${port};`));
    await using balancer = await start(configuration, command, port);
    await requireSafe(balancer.api);
    const [first] = hosts;
    first!.api[Symbol.dispose]();
    await requireUnharmed(balancer.api);
    first!.api = hostOf(server.api);
  });

  test("the documented block for one server: a client can't take the server out", async () => {
    const [, location] = /^```nginx\n(.*?)^```/ms.exec(textOf('docs/run.md'))!;
    const port = freePort();
    const snippet = location!.replace('127.0.0.1:3999', new URL(server.api).host);
    await using balancer = await start(around(`server { listen 127.0.0.1:${port};\n${snippet}}`), command, port);
    await requireSafe(balancer.api);
  });
});

const haproxy = programNamed('haproxy');

describeWith('HAProxy', haproxy !== null, () => {
  test("haproxy.cfg: a client can't take hosts out, and nodes reach a host", async () => {
    const block = textOf('packaging/balancers/haproxy.cfg');
    const [readers, nodes] = [freePort(), freePort()];
    const configuration = withHosts(block)
      .replace('bind :3999', `bind 127.0.0.1:${readers}`)
      .replace('bind 10.0.0.9:3700', `bind 127.0.0.1:${nodes}`);
    await using balancer = await start(configuration, (file) => [haproxy!, '-db', '-f', file], readers);
    await requireSafe(balancer.api);
    const { path, body } = stream.at(-1)!;
    const headers = { 'content-type': 'application/json' };
    const posted = await fetch(`http://127.0.0.1:${nodes}${path}`, { method: 'POST', headers, body });
    expect(posted.status).toBe(200);
  });
});
