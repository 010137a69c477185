/** Limits for clients: routes, realtime connections and forwarded requests, on one thread and on several. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LogEvent } from '../../src/log.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { ingestOf, simulatedEvents } from '../support/data/ingest.ts';
import { openWebSocket, rawFrame, rawWebSocket } from '../support/servers/raw-web-socket.ts';
import { type Serving, serving } from '../support/servers/serving.ts';
import { until } from '../support/time/until.ts';

const source = ingestOf(simulatedEvents({ seed: 3, blocks: 4, transactionsPerBlock: 1 }));
const files = dataDirectory();
afterAll(() => {
  source[Symbol.dispose]();
  files[Symbol.dispose]();
});
const keys = join(files.path, 'keys');

const LIMIT = 12;
const WEBSOCKET = '/extended/v1/ws';
const IO = '/socket.io/?EIO=4&transport=websocket';

/** Sends requests until the response is 429. Time passes between them. */
async function untilRefused(ask: () => Promise<Response>): Promise<{ allowed: number; last: Response }> {
  for (let allowed = 0; allowed < 1_000; allowed++) {
    const last = await ask();
    if (last.status === 429) return { allowed, last };
    expect(last.status).toBe(200);
  }
  throw new Error('nothing is refused');
}

/**
 * Opens a WebSocket, and sends frames above the limit. It sends them all at once: the server stops reading after it
 * closes the connection, and then the client's system may drop the close code.
 * @returns the close code from the server
 */
async function closeCodeBeyondLimit(
  path: string,
  to: Serving,
  headers: Record<string, string>,
  frame: Buffer,
): Promise<number | null> {
  const socket = await rawWebSocket(path, to, headers);
  const first = path === IO ? [rawFrame('TEXT', '40')] : [];
  // On a busy machine, the client may regain some requests during this time.
  socket.send(...first, ...Array<Buffer>(5 * LIMIT).fill(frame));
  return await socket.closed;
}

describe.each([
  ['one thread', '0'],
  ['several threads', '2'],
])('%s', (_, threads) => {
  let server: Serving;
  beforeAll(async () => {
    writeFileSync(keys, 'alice key-of-alice 40\n');
    server = await serving(
      { mode: 'read', threads, rateLimit: String(LIMIT), readKeys: keys, trustedProxies: '127.0.0.1' },
      source.path,
    );
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const ask = (path: string, headers: Record<string, string>) => fetch(`${server.api}${path}`, { headers });
  /** A client behind the proxy on this machine. */
  const from = (address: string) => ({ 'x-forwarded-for': address });

  test("each response shows the client's limit, and a request above the limit is rejected with the time to wait", async () => {
    const first = await ask('/extended/v2/blocks', from('192.0.2.1'));
    expect([first.status, first.headers.get('ratelimit')]).toEqual([200, `"address";r=${LIMIT - 1};t=5`]);
    const { allowed, last } = await untilRefused(() => ask('/extended/v2/blocks', from('192.0.2.1')));
    expect(allowed).toBeGreaterThanOrEqual(LIMIT - 1);
    expect(Number(last.headers.get('retry-after'))).toBeWithin(1, 6);
    expect(await last.json()).toMatchObject({ statusCode: 429, code: 'RATE_LIMIT' });
    expect(last.headers.get('access-control-allow-origin')).toBe('*');
    // Other clients still get responses, and so does a client with a key.
    expect((await ask('/extended/v2/blocks', from('192.0.2.2'))).status).toBe(200);
    const keyed = await ask('/extended/v2/blocks', { ...from('192.0.2.1'), 'x-api-key': 'key-of-alice' });
    expect([keyed.status, keyed.headers.get('ratelimit-policy')]).toEqual([200, '"key";q=40;w=60']);
  });

  test("an invented address doesn't raise the limit, and pages, health and unknown paths don't count", async () => {
    let n = 0;
    await untilRefused(() => ask('/extended/v1/status', from(`198.51.100.${++n % 250}, 192.0.2.3`)));
    for (const path of ['/health', '/metrics', '/docs/json', '/nowhere']) {
      expect([path, (await ask(path, from('192.0.2.3'))).status]).not.toEqual([path, 429]);
    }
    const page = await ask('/', { ...from('192.0.2.3'), accept: 'text/html' });
    expect(page.status).toBe(200);
  });

  test('an expensive route counts as several requests, and a HEAD request counts as one', async () => {
    const headers = from('192.0.2.4');
    expect((await ask('/stackside/v1/forks', headers)).headers.get('ratelimit')).toStartWith('"address";r=2;');
    expect((await untilRefused(() => ask('/extended/v1/block', headers))).allowed).toBeLessThan(LIMIT);
    const head = await fetch(`${server.api}/extended/v2/blocks`, { method: 'HEAD', headers });
    expect([head.status, head.headers.get('ratelimit')]).toEqual([200, expect.stringMatching(/r=[1-9];/)]);
  });

  test('connections and messages count, and a client above its limit is disconnected', async () => {
    const url = server.api.replace('http', 'ws') + WEBSOCKET;
    const headers = from('192.0.2.5');
    const subscribe = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscribe', params: { event: 'block' } });
    expect(await closeCodeBeyondLimit(WEBSOCKET, server, headers, rawFrame('TEXT', subscribe))).toBe(1008);
    const open: WebSocket[] = [];
    await until(async () => {
      const next = await openWebSocket(url, headers);
      if (next.readyState === WebSocket.OPEN) open.push(next);
      return next.readyState !== WebSocket.OPEN;
    }, 'a connection that is refused');
    for (const socket of open) socket.close();
    const poll = '/socket.io/?EIO=4&transport=polling';
    await untilRefused(() => ask(poll, headers));
    const other = await ask(poll, from('192.0.2.6'));
    expect(other.status).toBe(200);
  });

  test.each([
    ['PINGs over JSON-RPC', WEBSOCKET, 7, rawFrame('PING')],
    ['PINGs over Socket.IO', IO, 8, rawFrame('PING')],
    ['unsolicited PONGs', WEBSOCKET, 9, rawFrame('PONG')],
    ['messages over Socket.IO', IO, 10, rawFrame('TEXT', '42["subscribe","block"]')],
  ])('%s count, and close the connection of a client beyond its limit', async (_, path, host, frame) => {
    expect(await closeCodeBeyondLimit(path, server, from(`192.0.2.${host}`), frame)).toBe(1008);
  });

  test('each request of a batch over JSON-RPC counts', async () => {
    const subscribe = { jsonrpc: '2.0', id: 1, method: 'subscribe', params: { event: 'block' } };
    const batch = (requests: number) => rawFrame('TEXT', JSON.stringify(Array(requests).fill(subscribe)));
    const socket = await rawWebSocket(WEBSOCKET, server, from('192.0.2.11'));
    socket.send(batch(2 * LIMIT));
    expect(await socket.closed).toBe(1008);
  });

  test('each packet of a Socket.IO body counts, and a body above the limit is rejected with the time to wait', async () => {
    const poll = '/socket.io/?EIO=4&transport=polling';
    const headers = from('192.0.2.12');
    const { sid } = JSON.parse((await (await ask(poll, headers)).text()).slice(1));
    const body = ['40', ...Array<string>(2 * LIMIT).fill('42["subscribe","block"]')].join('\x1e');
    const refused = await server.get(`${poll}&sid=${sid}`, { method: 'POST', headers, body });
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(1, 6);
  });

  test('metrics count requests by key', async () => {
    await ask('/extended/v2/blocks', { 'x-api-key': 'key-of-alice' });
    const text = await (await ask('/metrics', {})).text();
    expect(text).toMatch(/^stackside_client_requests_total\{key="alice"\} \d/m);
    expect(text).toMatch(/^stackside_client_requests_refused_total\{key=""\} \d/m);
  });
});

test('if reading requires a key, requests without a key are rejected, except for the state of the server', async () => {
  await using server = await serving({ rateLimit: '0', readKeys: keys }, source.path);
  const ask = (path: string, headers: Record<string, string> = {}) => fetch(`${server.api}${path}`, { headers });
  const refused = await ask('/extended/v2/blocks');
  expect([refused.status, await refused.json()]).toEqual([401, expect.objectContaining({ code: 'READ_KEY' })]);
  expect((await ask('/extended/v2/blocks', { authorization: 'Bearer key-of-alice' })).status).toBe(200);
  for (const path of ['/health', '/stackside/v1/status']) expect([path, (await ask(path)).status]).toEqual([path, 200]);
});

test("a proxy that isn't trusted is logged without a rate limit, since its clients share the readers of changes", async () => {
  const logged: LogEvent[] = [];
  const createLog = () => (event: LogEvent) => void logged.push(event);
  await using server = await serving({ mode: 'read', threads: '0' }, source.path, {}, { createLog });
  const problems = () => logged.flatMap((event) => (event.event === 'setup_warning' ? event.problem : []));
  const ask = (path: string) => server.get(path, { headers: { 'x-forwarded-for': '192.0.2.1' } });
  await ask('/extended/v2/blocks');
  expect(problems()).toEqual([]);
  await ask('/stackside/v1/changes?after=tip');
  await ask('/stackside/v1/changes?after=tip');
  expect(problems()).toEqual([
    "Requests name their clients through a proxy at 127.0.0.1 that isn't trusted, so its clients share the limits of one client.",
  ]);
});
