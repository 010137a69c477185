import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { postEvents } from '../../src/devnet/node-event.ts';
import { devnetEvents } from '../../src/devnet/scenario.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { rawExchange } from '../support/servers/raw-http.ts';
import { type Server, startServer } from './stackside.ts';

const data = dataDirectory();
const events = [...devnetEvents({ seed: 7, blocks: 12, transactionsPerBlock: 2, forkEvery: 5 })];
let server: Server;

beforeAll(async () => {
  server = await startServer('serve', '--data', data.path, '--network', 'testnet', '--log-level', 'error');
  await postEvents(events, server.events);
});
afterAll(async () => {
  await server.stop();
  data[Symbol.dispose]();
});

const post = (path: string, body: string, headers: Record<string, string> = { 'content-type': 'application/json' }) =>
  fetch(server.events + path, { method: 'POST', body, headers });
const blocks = events.filter(({ path }) => path === '/new_block');

test('both ports listen on the loopback by default', () => {
  expect([server.api, server.events].map((url) => new URL(url).hostname)).toEqual(['127.0.0.1', '127.0.0.1']);
});

describe('the event receiver', () => {
  test('answers 200 with Content-Length and a JSON type, and repeats no header', async () => {
    const last = blocks.at(-1)?.body ?? '';
    const headers = [
      `Host: ${new URL(server.events).host}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(last)}`,
      'Connection: close',
    ];
    const { head } = await rawExchange(server.events, ['POST /new_block HTTP/1.1', ...headers, '', last].join('\r\n'));
    const names = head
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(':')[0]);
    expect(head).toStartWith('http/1.1 200 ');
    expect(names).toContain('content-length');
    expect(names).not.toContain('transfer-encoding');
    expect(new Set(names).size).toBe(names.length);
    expect(head.length).toBeLessThan(4096);
    expect(await (await post('/new_block', last)).text()).toBe('{"result":"ok"}');
  });

  test('reports that it is ready', async () => {
    const response = await fetch(server.events);
    expect(await response.json()).toMatchObject({ status: 'ready' });
  });

  const refused: [what: string, path: string, body: string, status: number, error: string][] = [
    ['text that is not JSON', '/new_block', '{', 400, 'The body is not valid JSON'],
    ['a block without its hash', '/new_block', '{"block_height":1}', 400, 'Missing field block_hash'],
    [
      'a Bitcoin block without its height',
      '/new_burn_block',
      '{"burn_block_hash":"0x"}',
      400,
      'Missing field burn_block',
    ],
    ['a path that is none', '/a/new/thing', '{}', 404, 'no route handler for /a/new/thing'],
  ];
  for (const [name, path, body, status, error] of refused) {
    test(`${name} is ${status}`, async () => {
      const response = await post(path, body);
      expect(response.status).toBe(status);
      expect(((await response.json()) as { error: string }).error).toContain(error);
    });
  }

  test('a body without a JSON content type is 415', async () => {
    expect((await post('/new_block', '{}', { 'content-type': 'text/xml' })).status).toBe(415);
  });

  test('events from a web page are rejected, with or without a content type', async () => {
    const page = { origin: 'https://evil.example' };
    const json = { 'content-type': 'application/json' };
    for (const headers of [page, { ...page, ...json }, { 'sec-fetch-site': 'same-origin', ...json }]) {
      const response = await post('/mined_block', '{}', headers);
      expect([response.status, await response.json()]).toEqual([
        403,
        { error: 'Events are accepted from nodes, not from web pages' },
      ]);
    }
  });

  test("a trailing slash is ignored, and events that the index doesn't need are accepted", async () => {
    expect((await post('/mined_block/', '{}')).status).toBe(200);
    expect((await post('/proposal_response', '{"result":"Ok"}')).status).toBe(200);
  });
});

test('a server that was stopped continues where it was, and stops while a client polls', async () => {
  using directory = dataDirectory();
  const half = Math.floor(events.length / 2);
  const flags = ['--data', directory.path, '--log-level', 'error'];
  const first = await startServer('serve', ...flags);
  await postEvents(events.slice(0, half), first.events);
  expect(await first.stop()).toBe(0);
  const second = await startServer('serve', ...flags);
  await postEvents(events.slice(half), second.events);
  const tip = await (await fetch(`${second.api}/extended`)).json();
  expect(tip).toMatchObject({ chain_tip: { block_height: 12 } });
  // A client of long polling that fetches nothing doesn't delay the end.
  const polling = `${second.api}/socket.io/?EIO=4&transport=polling`;
  const { sid } = JSON.parse((await (await fetch(polling)).text()).slice(1)) as { sid: string };
  expect((await fetch(`${polling}&sid=${sid}`, { method: 'POST', body: '40' })).status).toBe(200);
  expect(await second.stop()).toBe(0);
});
