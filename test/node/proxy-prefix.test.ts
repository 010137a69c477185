/** Prefixes of this server's paths that forward to other services. */
import { afterAll, describe, expect, test } from 'bun:test';
import { parseProxyPrefixes, prefixProxy } from '../../src/node/proxy.ts';
import { rawExchange } from '../support/servers/raw-http.ts';
import { NO_NODE, serving } from '../support/servers/serving.ts';
import { standInNode } from '../support/servers/stand-in-node.ts';

const service = standInNode();
const proxyPrefix = `/metadata=${service.url}/metadata /signer-metrics=${service.url}/ /gone=${NO_NODE}`;
const [server, threaded] = await Promise.all([serving({ proxyPrefix }), serving({ proxyPrefix, threads: '1' })]);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await threaded[Symbol.asyncDispose]();
  service[Symbol.dispose]();
});

const last = () => service.requests.at(-1)!;

test('a prefix is replaced by the URL, and the rest of the path and the query stay', async () => {
  for (const path of ['/metadata', '/metadata/v1/ft/SP1.token', '/v1/cycles']) {
    service.answer(path, () => Response.json({ path }));
  }
  const requests: [target: string, received: string][] = [
    ['/metadata', '/metadata'],
    ['/metadata/v1/ft/SP1.token?limit=1&a=%20b', '/metadata/v1/ft/SP1.token?limit=1&a=%20b'],
    ['/metadat%61/v1/ft/SP1.token', '/metadata/v1/ft/SP1.token'],
    ['/signer-metrics/v1/cycles', '/v1/cycles'],
  ];
  for (const proxy of [server, threaded]) {
    for (const [target, received] of requests) {
      const response = await proxy.get(target);
      expect([target, response.status, last().path]).toEqual([target, 200, received]);
    }
  }
  expect((await server.get('/metadatax')).status).toBe(404);
});

test('bodies up to the limit and HEAD are forwarded, and preflights are answered', async () => {
  service.answer('/metadata/echo', ({ method, body }) => new Response(`${method} ${new TextDecoder().decode(body)}`));
  expect(await (await server.get('/metadata/echo', { method: 'POST', body: 'text' })).text()).toBe('POST text');
  const head = await server.get('/metadata/echo', { method: 'HEAD' });
  expect([head.status, await head.text(), last().method]).toEqual([200, '', 'HEAD']);
  const before = service.requests.length;
  const headers = { origin: 'https://wallet', 'access-control-request-method': 'POST' };
  const preflight = await server.get('/metadata/echo', { method: 'OPTIONS', headers });
  expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
  const large = await server.get('/metadata/echo', { method: 'POST', body: new Uint8Array(10_000_001) });
  expect([large.status, service.requests.length]).toEqual([413, before]);
});

test('keys and cookies of this server stay here, and the service sets none', async () => {
  service.answer('/metadata/keys', () => {
    const headers = { 'set-cookie': 'stackside_session_1=x', 'clear-site-data': '"cookies"', 'x-from': 'service' };
    return new Response('<script>', {
      headers: { ...headers, 'content-type': 'text/html', connection: 'x-hop', 'x-hop': '1' },
    });
  });
  const { headers } = await server.get('/metadata/keys', {
    headers: {
      authorization: 'Bearer key',
      'x-api-key': 'key',
      cookie: 'a=b',
      'x-chainhook-consumer': 'me',
      te: 'trailers',
      'x-stackside-peer': 'x',
      accept: 'text/html',
    },
  });
  const received = last().headers;
  for (const name of ['authorization', 'x-api-key', 'cookie', 'x-chainhook-consumer', 'x-stackside-peer', 'te']) {
    expect([name, received.get(name)]).toEqual([name, null]);
  }
  expect([received.get('accept'), received.get('host')]).toEqual(['text/html', new URL(service.url).host]);
  expect(received.get('via')).toMatch(/^1\.1 stackside-[0-9a-f]{16}$/);
  for (const name of ['set-cookie', 'clear-site-data', 'x-hop'])
    expect([name, headers.get(name)]).toEqual([name, null]);
  // A page of the other service isn't one of this server's pages, although the address is this server's.
  expect(headers.get('content-security-policy')).toBe('sandbox');
  expect([headers.get('x-from'), headers.get('access-control-allow-origin')]).toEqual(['service', '*']);
});

test('redirects of the service lead below the prefix', async () => {
  const redirectFor = async (location: string) => {
    service.answer('/metadata/moved', () => new Response(null, { status: 302, headers: { location } }));
    return (await server.get('/metadata/moved')).headers.get('location');
  };
  expect(await redirectFor(`${service.url}/metadata/v1/x?a=1`)).toBe('/metadata/v1/x?a=1');
  expect(await redirectFor('/metadata/v1/x')).toBe('/metadata/v1/x');
  expect(await redirectFor('v1/x')).toBe('/metadata/v1/x');
  expect(await redirectFor('https://elsewhere.example/x')).toBe('https://elsewhere.example/x');
});

test('no path leads out of the prefix', async () => {
  const before = service.requests.length;
  const paths = [
    ...['..%2fsecret', 'a/..%5csecret', '%2e%2e%2fsecret', 'a%2f..%2f..%2fsecret', '%252e%252e%252fsecret'],
    '..;/secret',
  ];
  for (const path of paths) {
    const { status } = await rawExchange(server.api, `GET /metadata/${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect([path, status]).toEqual([path, 400]);
  }
  expect(service.requests.length).toBe(before);
});

describe('failures', () => {
  test("a service that can't be reached is 502, one that is too late 504", async () => {
    const response = await server.get('/gone/x');
    expect([response.status, await response.json()]).toEqual([
      502,
      { statusCode: 502, error: 'Bad Gateway', message: "The service of /gone can't be reached" },
    ]);
    const end = Promise.withResolvers<void>();
    service.answer('/slow', () => end.promise.then(() => new Response('late')));
    const slow = prefixProxy({ prefix: '/s', url: service.url, via: 'x', timeoutMs: 30 });
    await expect(slow(new Request('http://api/s/slow'))).rejects.toMatchObject({
      status: 504,
      message: 'The service of /s did not answer in time',
    });
    end.resolve();
  });

  test('a service that passes a request back is 502', async () => {
    let answers = 0;
    service.answer('/metadata/circle', async ({ headers }) => {
      answers += 1;
      return fetch(`${server.api}/metadata/circle`, { headers });
    });
    const answer = await server.get('/metadata/circle');
    expect([answer.status, await answer.json(), answers]).toEqual([
      502,
      expect.objectContaining({ message: 'The service of /metadata passes requests back to this server' }),
      1,
    ]);
  });
});

test.each(['/extended/x', '/v2', '/v1/metadata', '/chainhooks', '/docs', '/health', '/socket.io', '/stackside'])(
  'the prefix %s is refused at the start, because it would hide routes of Stackside',
  async (prefix) => {
    await expect(serving({ proxyPrefix: `${prefix}=${NO_NODE}` })).rejects.toThrow(
      `--proxy-prefix ${prefix} would hide routes of Stackside below /${prefix.split('/')[1]}.`,
    );
  },
);

test.each(['/metadata', '/metadata/v1'])('the prefix %s replaces the routes of Stackside', async (prefix) => {
  const proxyPrefix = `${prefix}=${service.url}/other`;
  await using proxy = await serving({ proxyPrefix });
  service.answer('/other/ft', () => Response.json({ from: 'elsewhere' }));
  expect(await (await proxy.get(`${prefix}/ft`)).json()).toEqual({ from: 'elsewhere' });
  expect((await proxy.get('/metadata/ft')).ok).toBe(prefix === '/metadata');
});

test('valid prefixes are parsed, and invalid ones are rejected', () => {
  expect(parseProxyPrefixes('')).toEqual([]);
  expect(parseProxyPrefixes(' /a=http://h:1/  /b/c=https://h ')).toEqual([
    { prefix: '/a', url: 'http://h:1' },
    { prefix: '/b/c', url: 'https://h' },
  ]);
  const wrong = [
    ...['metadata=http://h', '/=http://h', '=http://h', '/a/=http://h', '/a/../b=http://h', '/a', '/a=', '/a=h:1'],
    ...['/a=ftp://h', '/a=http://u:p@h', '/a=http://h?x', '/a=http://h#x', '/a b=http://h', '/a*=http://h'],
    '/a=http://h /a=http://i',
  ];
  for (const text of wrong) expect([text, parseProxyPrefixes(text)]).toEqual([text, null]);
});
