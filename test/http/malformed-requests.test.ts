/** Requests that no client library sends, to every port: none causes a server error. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Glob } from 'bun';
import type { UnexpectedEvent } from '../../src/base/log-events.ts';
import { listenHttp } from '../../src/http/listener.ts';
import { type RawAnswer, rawExchange } from '../support/servers/raw-http.ts';
import { type Serving, serving } from '../support/servers/serving.ts';
import { type StandInNode, standInNode } from '../support/servers/stand-in-node.ts';

let node: StandInNode;
let alone: Serving;
let threaded: Serving;

beforeAll(async () => {
  node = standInNode();
  alone = await serving({ nodeRpc: node.url });
  threaded = await serving({ nodeRpc: node.url, threads: '1' });
});
afterAll(async () => {
  await alone[Symbol.asyncDispose]();
  await threaded[Symbol.asyncDispose]();
  node[Symbol.dispose]();
});

const listeners: [name: string, origin: () => string][] = [
  ['the API', () => alone.api],
  ['a thread of the API', () => threaded.api],
  ['the event port', () => alone.events],
];

const paths = [
  '/',
  '/extended',
  '/extended/v3/blocks',
  '/extended/v1/fee_rate',
  '/extended/v1/faucets/btc/x',
  '/extended/v1/faucets/stx',
  '/extended/v1/ws',
  '/socket.io/?EIO=4&transport=polling',
  '/socket.io/?EIO=4&transport=websocket',
  '/v2/anything',
  '/docs',
  '/metrics',
  '/chainhooks',
  '/new_block',
  '/nothing',
];

/** Invalid Host headers, and two Host headers. */
const badHosts = ['a b', 'x:99999', '[::', 'x/y?z#w', 'user:pw@h', '\xff\xfe', 'a^b', 'a%zz', '%00', 'x\r\nHost: y'];

const requests: [name: string, request: (path: string) => string][] = [
  ...['GET', 'POST', 'OPTIONS'].flatMap((method) =>
    badHosts.map((host): [string, (path: string) => string] => [
      `${method}, Host: ${JSON.stringify(host)}`,
      (path) => `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\n\r\n`,
    ]),
  ),
  ...['', 'Host:\r\n'].map((host): [string, (path: string) => string] => [
    `HTTP/1.0, ${host === '' ? 'no Host' : 'an empty one'}`,
    (path) => `GET ${path} HTTP/1.0\r\n${host}\r\n`,
  ]),
  ...['CONNECT', 'TRACE', 'PROPFIND', 'HEAD', 'DELETE'].map((method): [string, (path: string) => string] => [
    method,
    (path) => `${method} ${path} HTTP/1.1\r\nHost: x\r\n\r\n`,
  ]),
  ['CONNECT to an authority', () => 'CONNECT a:80 HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['an absolute target', (path) => `GET http://[::${path} HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['an asterisk as target', () => 'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['a target of two slashes', (path) => `GET /${path} HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['a target without a slash', (path) => `GET ${path.slice(1)} HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['a target that is very long', (path) => `GET ${path}${'a'.repeat(100_000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['a fragment', (path) => `GET ${path}#x?y HTTP/1.1\r\nHost: x\r\n\r\n`],
  ...['%', '/%', '/%zz', '/%00', '/%ff%fe', '/\xff\xfe', '/\x7f', '/\\', '/"<>^`{|}', '?%=%&%zz=\xff', '?='].map(
    (end): [string, (path: string) => string] => [
      `${JSON.stringify(end)} at the end of the path`,
      (path) => `GET ${path}${end} HTTP/1.1\r\nHost: x\r\n\r\n`,
    ],
  ),
  ...['nonsense', 'h2c', 'websocket', 'websocket, h2c'].map((protocol): [string, (path: string) => string] => [
    `Upgrade: ${protocol}`,
    (path) => `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`,
  ]),
  [
    'a WebSocket that is posted',
    (path) =>
      `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nContent-Length: 0\r\n\r\n`,
  ],
  [
    'a WebSocket of another version',
    (path) =>
      `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 7\r\nSec-WebSocket-Key: x\r\n\r\n`,
  ],
  ...['-1', '1e9', '99999999999999999999', '0x10', 'x', '5, 5'].map((length): [string, (path: string) => string] => [
    `Content-Length: ${length}`,
    (path) => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`,
  ]),
  [
    'a chunk of no length',
    (path) => `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n`,
  ],
  [
    'Content-Length with chunks',
    (path) => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  [
    'a body of too many bytes, in chunks',
    (path) =>
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n200000\r\n${' '.repeat(0x200000)}\r\n0\r\n\r\n`,
  ],
  [
    'a body of too many bytes, by its length',
    (path) => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 600000000\r\n\r\n`,
  ],
  ...[
    `${'['.repeat(50_000)}${']'.repeat(50_000)}`,
    '{"address":{"toString":0,"valueOf":0}}',
    '{"__proto__":null}',
    '\xff',
    'null',
  ].map((body): [string, (path: string) => string] => [
    `the body ${JSON.stringify(body.slice(0, 40))}`,
    (path) =>
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  ]),
  ['cookies that are none', (path) => `GET ${path} HTTP/1.1\r\nHost: x\r\nCookie: %%%=\xff;;;=%\r\n\r\n`],
  [
    'an expectation that is none',
    (path) => `POST ${path} HTTP/1.1\r\nHost: x\r\nExpect: nonsense\r\nContent-Length: 0\r\n\r\n`,
  ],
  [
    'a Connection that names no header',
    (path) => `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: (, \xff,close\r\n\r\n`,
  ],
  [
    'If-None-Match of commas',
    (path) => `GET ${path} HTTP/1.1\r\nHost: x\r\nIf-None-Match: ${','.repeat(5_000)}"\r\n\r\n`,
  ],
];

/** Status of the runtime's response to an unsupported HTTP version, or to text that looks like one. */
const OTHER_VERSION = 505;

describe.each(listeners)('%s', (_, origin) => {
  test.each(requests)('%s', async (_name, request) => {
    const answers = await Promise.all(
      paths.map(async (path) => ({ path, ...(await rawExchange(origin(), request(path))) })),
    );
    const isOurs = ({ status, head }: RawAnswer): boolean =>
      (status < 500 || status === OTHER_VERSION) && (status < 400 || !head.includes('text/html'));
    expect(answers.filter((answer) => !isOurs(answer))).toEqual([]);
  });

  test('returns 400 for a malformed Host, and accepts HTTP/1.0 without a Host', async () => {
    for (const host of badHosts) {
      const { status } = await rawExchange(origin(), `GET /metrics HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      expect([host, status]).toEqual([host, 400]);
    }
    expect((await rawExchange(origin(), 'GET /metrics HTTP/1.0\r\n\r\n')).status).toBe(200);
    expect((await rawExchange(origin(), 'GET /metrics HTTP/1.0\r\nHost:\r\n\r\n')).status).toBe(200);
  });
});

/** Each letter, digit and `_` percent-encoded, alternating between upper and lower case. */
const encode = (text: string): string =>
  text.replace(/\w/g, (letter, offset: number) => {
    const hex = letter.charCodeAt(0).toString(16);
    return `%${offset % 2 === 0 ? hex : hex.toUpperCase()}`;
  });

/** Paths whose responses can change at any time. */
const FIGURES = new Set(['/metrics', '/stackside/v1/status']);

describe('a percent-encoded path', () => {
  const answer = async (response: Promise<Response>) => {
    const { status, headers } = await response;
    return { status, type: headers.get('content-type'), body: await (await response).text() };
  };

  test('equals the plain path on every route', async () => {
    const { paths: described } = (await (await alone.get('/docs/json')).json()) as { paths: Record<string, object> };
    const routes = Object.entries(described).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({
        method: method.toUpperCase(),
        path: path.replace('{pox}', 'pox4').replace(/\{\w+\}/g, '1'),
      })),
    );
    routes.push(
      { method: 'GET', path: '/docs' },
      { method: 'GET', path: '/metrics' },
      { method: 'GET', path: '/ready' },
    );
    expect(routes.length).toBeGreaterThan(150);
    for (const { method, path } of routes) {
      const [plain, other] = await Promise.all(
        [path, encode(path)].map((url) => answer(alone.get(url, { method, headers: { 'if-none-match': '"x"' } }))),
      );
      if (FIGURES.has(path)) expect(other!.status).toBe(200);
      else expect([path, other]).toEqual([path, plain!]);
      expect([path, plain!.body.includes(`Route ${method}:`)]).toEqual([path, false]);
    }
  });

  test('equals the plain path for realtime, the node and the event port', async () => {
    for (const { api } of [alone, threaded]) {
      expect((await fetch(`${api}/extended/v1/${encode('ws')}`)).status).toBe(426);
      expect((await fetch(`${api}/socket.${encode('io')}/?EIO=4&transport=polling`)).status).toBe(200);
    }
    node.answer('/v2/there', () => new Response('yes'));
    expect(await (await alone.get(`/${encode('v2')}/there?x=%31`)).text()).toBe('yes');
    expect(node.forwarded.at(-1)?.path).toBe('/v2/there?x=%31');
    const refused = await fetch(`${alone.events}/${encode('new_block')}`, { method: 'POST', body: '{}' });
    expect([refused.status, await refused.text()]).toEqual([
      (await fetch(`${alone.events}/new_block`, { method: 'POST', body: '{}' })).status,
      expect.stringContaining('block_hash'),
    ]);
  });

  test('keeps encoded characters that would change its segments', async () => {
    for (const path of ['/extended%2Fv3/transactions', '/extended/v3%3Ftransactions', '/%2565xtended']) {
      expect([path, (await alone.get(path)).status]).toEqual([path, 404]);
    }
  });

  test.each(['/%', '/%zz', '/%ff', '/extended/%', '/extended/v3/transactions%', '/extended/v3/%c3%28/x'])(
    'returns 400 if malformed: %s',
    async (path) => {
      for (const { api } of [alone, threaded]) {
        const response = await fetch(api + path);
        expect([response.status, await response.json()]).toEqual([
          400,
          { statusCode: 400, code: 'BAD_URL', error: 'Bad Request', message: `'${path}' is not a valid url component` },
        ]);
      }
    },
  );
});

test('a request without a Host keeps its query parameters', async () => {
  const statusOf = async (path: string) => (await rawExchange(alone.api, `GET ${path} HTTP/1.0\r\n\r\n`)).status;
  expect(await statusOf('/extended/v1/block/by_height/x')).toBe(400);
  node.answer('/v2/here', () => new Response('yes'));
  expect(await statusOf('/v2/here?x=1')).toBe(200);
  expect(node.forwarded.at(-1)?.path).toBe('/v2/here?x=1');
});

test.each(['HTTP/1.0\r\n', 'HTTP/1.1\r\nHost:\r\n'])('after %j a path is handled as with a Host', async (beginning) => {
  const paths = [
    '/extended/v1/contract/\xff',
    '/extended/v1/contract/ÿ"<>',
    '/v1/names/\xff',
    '/extended/\xff',
    '/v2/\xff',
  ];
  for (const path of paths) {
    const status = async (rest: string) => (await rawExchange(alone.api, `GET ${path} ${rest}\r\n`)).status;
    expect([path, await status(beginning)]).toEqual([path, await status('HTTP/1.1\r\nHost: 127.0.0.1\r\n')]);
  }
});

test("a handler's error is logged and returns 500 without the cause, even in development", async () => {
  const logged: UnexpectedEvent[] = [];
  const cause = new Error('secret');
  const fail = (): never => {
    throw cause;
  };
  using server = listenHttp({
    what: 'The test',
    hostname: '127.0.0.1',
    port: 0,
    bodyLimit: 1000,
    idleSeconds: 10,
    fetch: fail,
    routes: { '/late': () => Promise.reject(cause) },
    refuse: (status, message) => Response.json({ message }, { status }),
    log: (event) => void logged.push(event),
  });
  expect(server.development).toBe(false);
  for (const path of ['/now?x=1', '/late']) {
    const response = await fetch(server.url.origin + path);
    expect([response.status, await response.text()]).toEqual([
      500,
      '{"message":"Unexpected error; the log has its cause"}',
    ]);
  }
  expect(logged).toEqual([
    { event: 'unexpected_error', part: 'request', method: 'GET', path: '/now?x=1', cause },
    { event: 'unexpected_error', part: 'request', method: 'GET', path: '/late', cause },
  ]);
});

test("a failing log doesn't reveal the cause", async () => {
  const fail = (): never => {
    throw new Error('secret');
  };
  const refuse = (status: number, message: string) => Response.json({ message }, { status });
  const where = { what: 'The test', hostname: '127.0.0.1', port: 0, bodyLimit: 1000, idleSeconds: 10 };
  using server = listenHttp({ ...where, fetch: fail, refuse, log: fail });
  const response = await fetch(server.url);
  expect([response.status, await response.text()]).toEqual([
    500,
    '{"message":"Unexpected error; the log has its cause"}',
  ]);
});

test('only one module opens ports', async () => {
  const openers: string[] = [];
  for await (const file of new Glob('src/**/*.ts').scan('.')) {
    // Test support for apps runs in the app's process, and in Node.
    if (file.startsWith('src/testing/')) continue;
    if (/\b(Bun\.serve|createServer)\b/.test(await Bun.file(file).text())) openers.push(file);
  }
  expect(openers).toEqual(['src/http/listener.ts']);
});
