/** Requests that no client library sends, to every port: none causes a server error. */
import { afterAll, describe, expect, test } from 'bun:test';
import { Glob } from 'bun';
import type { UnexpectedEvent } from '../../src/base/log-events.ts';
import { listenHttp } from '../../src/http/listener.ts';
import { type RawAnswer, rawExchange } from '../support/servers/raw-http.ts';
import { serving } from '../support/servers/serving.ts';
import { standInNode } from '../support/servers/stand-in-node.ts';

const node = standInNode();
const alone = await serving({ nodeRpc: node.url });
const threaded = await serving({ nodeRpc: node.url, threads: '1' });
afterAll(async () => {
  await alone[Symbol.asyncDispose]();
  await threaded[Symbol.asyncDispose]();
  node[Symbol.dispose]();
});

const allPaths = [
  ...['/', '/extended', '/extended/v3/blocks', '/extended/v1/fee_rate', '/extended/v1/faucets/btc/x'],
  ...['/extended/v1/faucets/stx', '/extended/v1/ws', '/socket.io/?EIO=4&transport=polling'],
  ...['/socket.io/?EIO=4&transport=websocket', '/v2/anything', '/docs', '/metrics', '/chainhooks', '/new_block'],
  '/nothing',
];

/** All ports have one listener, so that the paths of one port are enough for what it rejects itself. */
const listeners: [name: string, origin: () => string, paths: readonly string[]][] = [
  ['the API', () => alone.api, allPaths],
  [
    'a thread of the API',
    () => threaded.api,
    ['/extended/v3/blocks', '/extended/v1/ws', '/v2/anything', '/chainhooks'],
  ],
  ['the event port', () => alone.events, ['/', '/new_block', '/nothing']],
];

/** Invalid Host headers, and two Host headers. */
const badHosts = ['a b', 'x:99999', '[::', 'x/y?z#w', 'user:pw@h', '\xff\xfe', 'a^b', 'a%zz', '%00', 'x\r\nHost: y'];

type Row = [name: string, request: (path: string) => string];

/** A request with one Host, and with more header lines. */
const raw =
  (method: string, ...lines: string[]) =>
  (path: string): string =>
    [`${method} ${path} HTTP/1.1`, 'Host: x', ...lines, '', ''].join('\r\n');
/** A GET of a target that is made from the path. */
const get =
  (target: (path: string) => string) =>
  (path: string): string =>
    raw('GET')(target(path));
const CHUNKED = 'Transfer-Encoding: chunked';
const JSON_BODY = 'Content-Type: application/json';
const WEBSOCKET = ['Connection: Upgrade', 'Upgrade: websocket'];

const requests: Row[] = [
  ...['GET', 'POST', 'OPTIONS'].flatMap((method) =>
    badHosts.map(
      (host): Row => [
        `${method}, Host: ${JSON.stringify(host)}`,
        (path) => `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\n\r\n`,
      ],
    ),
  ),
  ['HTTP/1.0, no Host', (path) => `GET ${path} HTTP/1.0\r\n\r\n`],
  ['HTTP/1.0, an empty one', (path) => `GET ${path} HTTP/1.0\r\nHost:\r\n\r\n`],
  ...['CONNECT', 'TRACE', 'PROPFIND', 'HEAD', 'DELETE'].map((method): Row => [method, raw(method)]),
  ['CONNECT to an authority', () => raw('CONNECT')('a:80')],
  ['an absolute target', get((path) => `http://[::${path}`)],
  ['an asterisk as target', () => raw('OPTIONS')('*')],
  ['a target of two slashes', get((path) => `/${path}`)],
  ['a target without a slash', get((path) => path.slice(1))],
  ['a target that is very long', get((path) => `${path}${'a'.repeat(100_000)}`)],
  ['a fragment', get((path) => `${path}#x?y`)],
  ...['%', '/%', '/%zz', '/%00', '/%ff%fe', '/\xff\xfe', '/\x7f', '/\\', '/"<>^`{|}', '?%=%&%zz=\xff', '?='].map(
    (end): Row => [`${JSON.stringify(end)} at the end of the path`, get((path) => path + end)],
  ),
  ...['nonsense', 'h2c', 'websocket', 'websocket, h2c'].map(
    (protocol): Row => [`Upgrade: ${protocol}`, raw('GET', 'Connection: Upgrade', `Upgrade: ${protocol}`)],
  ),
  [
    'a WebSocket that is posted',
    raw(
      'POST',
      ...WEBSOCKET,
      'Sec-WebSocket-Version: 13',
      `Sec-WebSocket-Key: ${'A'.repeat(22)}==`,
      'Content-Length: 0',
    ),
  ],
  ['a WebSocket of another version', raw('GET', ...WEBSOCKET, 'Sec-WebSocket-Version: 7', 'Sec-WebSocket-Key: x')],
  ...['-1', '1e9', '99999999999999999999', '0x10', 'x', '5, 5'].map(
    (length): Row => [`Content-Length: ${length}`, raw('POST', `Content-Length: ${length}`)],
  ),
  ['a chunk of no length', raw('POST', CHUNKED, '', 'zz')],
  ['Content-Length with chunks', raw('POST', 'Content-Length: 9', CHUNKED, '', '0')],
  ['a body of too many bytes, in chunks', raw('POST', JSON_BODY, CHUNKED, '', '200000', ' '.repeat(0x200000), '0')],
  ['a body of too many bytes, by its length', raw('POST', JSON_BODY, 'Content-Length: 600000000')],
  ...[
    ...[`${'['.repeat(50_000)}${']'.repeat(50_000)}`, '{"address":{"toString":0,"valueOf":0}}', '{"__proto__":null}'],
    ...['\xff', 'null'],
  ].map(
    (body): Row => [
      `the body ${JSON.stringify(body.slice(0, 40))}`,
      (path) => raw('POST', JSON_BODY, `Content-Length: ${body.length}`)(path) + body,
    ],
  ),
  ['cookies that are none', raw('GET', 'Cookie: %%%=\xff;;;=%')],
  ['an expectation that is none', raw('POST', 'Expect: nonsense', 'Content-Length: 0')],
  ['a Connection that names no header', raw('GET', 'Connection: (, \xff,close')],
  ['If-None-Match of commas', raw('GET', `If-None-Match: ${','.repeat(5_000)}"`)],
];

/** Status of the runtime's response to an unsupported HTTP version, or to text that looks like one. */
const OTHER_VERSION = 505;

describe.each(listeners)('%s', (_, origin, paths) => {
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
    routes.push(...['/docs', '/metrics', '/ready'].map((path) => ({ method: 'GET', path })));
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
    ...['/extended/v1/contract/\xff', '/extended/v1/contract/ÿ"<>', '/v1/names/\xff', '/extended/\xff', '/v2/\xff'],
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
