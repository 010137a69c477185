/** Conventions that all routes follow, tested with a sample of the routes. */
import { describe, expect, test } from 'bun:test';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { IndexUnavailableError, NoSnapshotError } from '../../src/store/model/read-errors.ts';
import { TooMuchWorkError } from '../../src/store/rows/statement.ts';
import { memoryIndex } from '../support/data/memory-index.ts';
import { alice, announcement, drop, transfer } from '../support/events/handmade.ts';
import { burnBlock } from '../support/events/pox.ts';
import {
  ADDRESS,
  bytes,
  CONTRACT,
  chainBlock,
  chainBlocks,
  hash,
  MISTYPED,
  sampleEvents,
  waiting,
} from './sample-chain.ts';
import { isOfStaking, sampleRoutes } from './sample-routes.ts';
import { emptyIndex, failingIndex, testApp, VERSION } from './test-app.ts';

const sampleApp = testApp();

const TX = `/extended/v3/transactions/${hash(0x31)}`;
const UNKNOWN_TX = `/extended/v3/transactions/${hash(0x99)}`;
const BALANCE = `/extended/v3/principals/${ADDRESS}/balances/stx`;
const REVALIDATE = 'public, no-cache, must-revalidate';

/** Routes whose answers depend on the time, so that they lack an ETag. */
const UNTAGGED = ['/extended/v2/blocks/average-times'];

const routes = sampleRoutes.filter((route) => !isOfStaking(route) && !UNTAGGED.includes(route.path));

test('a route is exempt only if the sample chain lacks its data or its answer lacks an ETag', async () => {
  for (const { path } of sampleRoutes.filter(isOfStaking)) {
    const { status, body } = await sampleApp.json(path);
    const { results = [] } = body as { results?: unknown[] };
    expect([path, [200, 404].includes(status), results]).toEqual([path, true, []]);
  }
  for (const path of UNTAGGED)
    expect([path, (await sampleApp.request(path)).headers.get('etag')]).toEqual([path, null]);
});

describe.each(routes.map(({ path }) => path))('%s', (path) => {
  test('GET returns JSON with the common headers', async () => {
    const { status, headers } = await sampleApp.json(path);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('access-control-expose-headers')).toContain('X-API-Version');
    expect(headers.get('x-api-version')).toBe(VERSION);
    expect(headers.get('cache-control')).toBe(REVALIDATE);
    expect(headers.get('etag')).toMatch(/^"[^"]+"$/);
  });

  test('HEAD returns the status, headers and length of GET, without a body', async () => {
    const { request } = sampleApp;
    const [get, head] = [await request(path), await request(path, { method: 'HEAD' })];
    const { 'content-length': length, ...headers } = Object.fromEntries(head.headers);
    expect(head.status).toBe(200);
    expect(headers).toEqual(Object.fromEntries(get.headers));
    expect(length).toBe(String((await get.bytes()).length));
    expect(await head.text()).toBe('');
  });

  test('ignores a trailing slash', async () => {
    const { json } = sampleApp;
    expect((await json(`${path}/?x=1`)).body).toEqual((await json(path)).body);
  });

  test.each(['POST', 'PUT', 'PATCH', 'DELETE'])('%s returns 404 with "Route not found"', async (method) => {
    const { status, body } = await sampleApp.json(path, { method });
    const message = `Route ${method}:${path} not found`;
    expect([status, body]).toEqual([404, { message, error: 'Not Found', statusCode: 404 }]);
  });

  test('returns 304 if If-None-Match has the current ETag, otherwise 200', async () => {
    const { request } = sampleApp;
    const etag = (await request(path)).headers.get('etag')!;
    const askTagged = (value: string, method = 'GET') => request(path, { method, headers: { 'if-none-match': value } });
    for (const value of [etag, `W/${etag}`, etag.slice(1, -1), `"x", ${etag}`, `"x",W/${etag}`]) {
      const response = await askTagged(value);
      expect([value, response.status, await response.text()]).toEqual([value, 304, '']);
      expect(response.headers.get('cache-control')).toBe(REVALIDATE);
      // The copy of a compressed response has the weak ETag.
      expect(response.headers.get('etag')).toBe(value.includes('W/') ? `W/${etag}` : etag);
      expect(response.headers.get('x-api-version')).toBe(VERSION);
    }
    expect((await askTagged(etag, 'HEAD')).status).toBe(304);
    for (const value of ['*', '"x"', '', `"${etag}`.slice(0, 20)]) expect((await askTagged(value)).status).toBe(200);
  });

  test('returns 500 if the store fails, with the cause only in the log', async () => {
    const failure = new Error('no such table: secrets');
    const { json, logged } = testApp(failingIndex(failure));
    const { status, headers, body } = await json(path);
    expect(status).toBe(500);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.has('etag')).toBe(false);
    const message = 'Unexpected error; the log has its cause';
    expect(body).toEqual({ statusCode: 500, error: 'Internal Server Error', message });
    expect(logged).toEqual([{ event: 'unexpected_error', part: 'request', method: 'GET', path, cause: failure }]);
  });
});

test('a request that would cost too much is rejected with advice on a cheaper one', async () => {
  const message = 'add a filter that lets fewer pass';
  const { json, logged } = testApp(failingIndex(new TooMuchWorkError(message)));
  const { status, headers, body } = await json('/extended/v3/transactions');
  expect([status, headers.get('cache-control'), headers.has('etag'), logged]).toEqual([400, 'no-store', false, []]);
  expect(body).toEqual({ statusCode: 400, code: 'TOO_MUCH_WORK', error: 'Bad Request', message });
});

describe('without an ETag, sends no-store', () => {
  test('before the first block', async () => {
    const { request } = testApp(emptyIndex());
    for (const path of ['/extended', '/extended/v3/transactions', '/extended/v3/mempool/transactions', BALANCE]) {
      const { status, headers } = await request(path);
      expect([path, status, headers.get('etag'), headers.get('cache-control')]).toEqual([path, 200, null, 'no-store']);
    }
  });

  test.each([UNKNOWN_TX, `${UNKNOWN_TX}/events`, '/extended/v3/blocks/9/transactions', '/nope'])(
    'for a 404 of %s',
    async (path) => {
      const { status, headers } = await sampleApp.json(path, { headers: { 'if-none-match': '*' } });
      expect([status, headers.get('etag'), headers.get('cache-control')]).toEqual([404, null, 'no-store']);
    },
  );

  test('for the missing events of a pending transaction', async () => {
    const path = `/extended/v3/transactions/${waiting[0].id}/events`;
    const { status, headers } = await sampleApp.json(path);
    expect([status, headers.get('etag'), headers.get('cache-control')]).toEqual([404, null, 'no-store']);
  });
});

describe('an ETag changes with', () => {
  const [, , tip] = chainBlocks();
  const appAfter = (...events: ReceivedEvent[]) => testApp(memoryIndex([...sampleEvents(), ...events]));
  const changes = {
    newTip: appAfter(chainBlock(tip).event),
    burnBlock: appAfter(burnBlock(104, 'a', null, [])),
    mempool: appAfter(announcement([transfer(alice, 8, 75)])),
    dropped: appAfter(drop([waiting[1]], 'TooExpensive')),
    remined: testApp(memoryIndex(sampleEvents({ hashes: 0xb0, indexHashes: 0xd0 }))),
  };
  const tagOf = async ({ request }: typeof sampleApp, path: string) => (await request(path)).headers.get('etag');
  /** The states that the answers of a route depend on. */
  type State = 'status' | 'chain' | 'bitcoin' | 'history' | 'recomputed' | 'mempool' | 'one';
  const principal = '/extended/v3/principals/{principal}';
  const states: Readonly<Record<string, State>> = {
    '/extended': 'status',
    '/extended/v3/transactions': 'chain',
    '/extended/v3/transactions/{tx_id}': 'one',
    '/extended/v3/transactions/{tx_id}/events': 'one',
    '/extended/v3/blocks/{height_or_hash}/transactions': 'one',
    '/extended/v3/mempool/transactions': 'mempool',
    [`${principal}/balances/stx`]: 'recomputed',
    [`${principal}/nonces`]: 'recomputed',
    [`${principal}/transactions`]: 'history',
    [`${principal}/mempool/transactions`]: 'recomputed',
    [`${principal}/transactions/{tx_id}/balance-changes`]: 'one',
    '/extended/v3/tokens/stx/supply': 'chain',
    '/extended/v3/smart-contracts/{contract_id}': 'chain',
    '/extended/v3/tokens/stx/holders': 'chain',
    '/extended/v3/tokens/ft/{asset_identifier}/supply': 'chain',
    '/extended/v3/tokens/ft/{asset_identifier}/holders': 'chain',
    '/extended/v3/tokens/nft/{asset_identifier}/{value}/history': 'chain',
    [`${principal}/balances/ft`]: 'history',
    [`${principal}/balances/ft/{asset_identifier}`]: 'history',
    [`${principal}/balances/nft`]: 'history',
    [`${principal}/transfers/stx/inbound`]: 'history',
    [`${principal}/transfers/stx/outbound`]: 'history',
    [`${principal}/transfers/ft/{asset_identifier}`]: 'history',
    '/extended/v2/blocks': 'chain',
    '/extended/v2/blocks/by-block-time/{timestamp}': 'one',
    '/extended/v2/blocks/{height_or_hash}': 'one',
    '/extended/v2/blocks/{height_or_hash}/signer-signatures': 'one',
    '/extended/v2/block-tenures/{tenure_height}/blocks': 'chain',
    '/extended/v2/burn-blocks': 'chain',
    '/extended/v2/burn-blocks/{height_or_hash}': 'chain',
    '/extended/v2/burn-blocks/{height_or_hash}/blocks': 'chain',
    '/extended/v2/burn-blocks/{height_or_hash}/pox-transactions': 'bitcoin',
    '/extended/v2/addresses/{burnchain_address}/pox-transactions': 'bitcoin',
    '/extended/v2/pox/cycles': 'chain',
    '/extended/v2/mempool/fees': 'mempool',
    '/extended/v2/smart-contracts/{contract_id}/logs': 'chain',
  };
  /** Routes that need a query are no samples. */
  const withQuery: Partial<Record<State, string>> = {
    history: `/extended/v3/principals/${ADDRESS}/balance-changes?tx_id=${hash(1)}`,
    mempool: `/extended/v2/smart-contracts/status?contract_id=${CONTRACT}`,
  };
  const pathsOf = (...of: State[]): string[] =>
    of.flatMap((state) => [
      ...routes.filter(({ route }) => states[route.path] === state).map(({ path }) => path),
      ...(withQuery[state] === undefined ? [] : [withQuery[state]]),
    ]);
  const list = '/extended/v3/transactions';
  const pendingTx = `${list}/${waiting[1].id}`;
  const all = pathsOf('status', 'chain', 'bitcoin', 'mempool', 'recomputed', 'history');
  const ofOne = pathsOf('one');

  test('a state that this test lists for each route', () => {
    expect(Object.keys(states).sort()).toEqual(routes.map(({ route }) => route.path).sort());
  });

  test.each([
    ['a new block', changes.newTip, [...all, pendingTx], ofOne],
    [
      'a Bitcoin block',
      changes.burnBlock,
      pathsOf('status', 'recomputed', 'history'),
      pathsOf('chain', 'one', 'mempool'),
    ],
    [
      'the mempool',
      changes.mempool,
      [...pathsOf('mempool', 'recomputed'), pendingTx],
      pathsOf('status', 'chain', 'bitcoin', 'one', 'history'),
    ],
    ['a drop', changes.dropped, [pendingTx], ofOne],
    ['another block with the same transactions', changes.remined, ofOne, [pendingTx]],
  ])('%s', async (_, changedChain, changed, unchanged) => {
    for (const path of changed) {
      expect([path, await tagOf(changedChain, path)]).not.toEqual([path, await tagOf(sampleApp, path)]);
    }
    for (const path of unchanged) {
      expect([path, await tagOf(changedChain, path)]).toEqual([path, await tagOf(sampleApp, path)]);
    }
  });

  test("nothing else: a list's ETag contains only the tip and the program", async () => {
    expect(await tagOf(sampleApp, list)).toMatch(new RegExp(`^"${hash(0xc3)}-[0-9a-f]+"$`));
  });
});

test('average block times are sent with no-store and without an ETag, because they change with the clock', async () => {
  const { status, headers } = await sampleApp.json('/extended/v2/blocks/average-times');
  expect([status, headers.get('etag'), headers.get('cache-control')]).toEqual([200, null, 'no-store']);
});

test.each(['/nope', '/nope?x=1&y=%20', '/extended/v4', '//extended', '/Extended', '/docs/none'])(
  'GET %s returns 404',
  async (path) => {
    const { status, headers, body } = await sampleApp.json(path);
    expect(status).toBe(404);
    expect(JSON.stringify(body)).toBe(
      JSON.stringify({ message: `Route GET:${path} not found`, error: 'Not Found', statusCode: 404 }),
    );
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(headers.get('x-api-version')).toBe(VERSION);
  },
);

test.each(['/', '/extended/v1/status', '/extended/v1/status/'])('GET %s redirects to /extended', async (path) => {
  const response = await sampleApp.request(path);
  expect(response.status).toBe(301);
  expect(response.headers.get('location')).toBe('/extended');
  expect(response.headers.get('content-length')).toBe('0');
  expect(response.headers.get('x-api-version')).toBe(VERSION);
  expect(await response.text()).toBe('');
});

describe.each(['/', '/extended', TX, '/v2/info', '/nope'])('OPTIONS %s', (path) => {
  const baseHeaders = { origin: 'https://site.example', 'access-control-request-method': 'GET' };

  test('returns 204', async () => {
    const headers = { ...baseHeaders, 'access-control-request-headers': 'x-one, x-two' };
    const response = await sampleApp.request(path, { method: 'OPTIONS', headers });
    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('access-control-allow-methods')).toBe('GET,HEAD,POST');
    expect(response.headers.get('access-control-max-age')).toBe('86400');
    expect(response.headers.get('access-control-allow-headers')).toBe('x-one, x-two');
    expect(response.headers.get('vary')).toBe('Access-Control-Request-Headers');
    expect(await response.text()).toBe('');
  });

  test('returns no allowed headers if the request names none', async () => {
    const response = await sampleApp.request(path, { method: 'OPTIONS', headers: baseHeaders });
    expect(response.headers.has('access-control-allow-headers')).toBe(false);
  });

  test('returns 400 without the headers of a preflight', async () => {
    const { status, body } = await sampleApp.json(path, { method: 'OPTIONS' });
    expect(status).toBe(400);
    expect(body).toEqual({ statusCode: 400, error: 'Bad Request', message: 'Invalid Preflight Request' });
  });
});

test('a page of another origin may use every method of the chainhook routes', async () => {
  const { body } = await sampleApp.json('/docs/json');
  const { paths } = body as { paths: Record<string, object> };
  const hooks = Object.entries(paths).filter(([path]) => path.startsWith('/chainhooks'));
  expect(hooks.length).toBeGreaterThan(15);
  for (const [path, methods] of hooks) {
    for (const method of Object.keys(methods)) {
      const headers = { origin: 'https://site.example', 'access-control-request-method': method.toUpperCase() };
      const response = await sampleApp.request(path.replace(/\{\w+\}/g, '1'), { method: 'OPTIONS', headers });
      const { status } = response;
      const allowed = response.headers.get('access-control-allow-methods')?.split(',') ?? [];
      expect([path, status, allowed.includes(method.toUpperCase())]).toEqual([path, 204, true]);
      expect(allowed).toEqual(['GET', 'HEAD', 'POST', 'PATCH', 'DELETE']);
    }
  }
});

describe('returns 503 if the store', () => {
  /** As the driver throws it. @param errno SQLite's extended result code */
  const failed = (message: string, code: string, errno: number) => Object.assign(new Error(message), { code, errno });

  test.each([
    ['is busy', failed('database is locked', 'SQLITE_BUSY_SNAPSHOT', 517)],
    ['fails to read', failed('disk I/O error', 'SQLITE_IOERR_READ', 266)],
    ['is closed', new NoSnapshotError('The store is closed')],
    ['has no time left', new NoSnapshotError('The request took too long')],
  ])('%s', async (_, failure) => {
    const { json, logged } = testApp(failingIndex(failure));
    const { status, body } = await json('/extended');
    expect([status, body]).toEqual([503, { error: 'The database service is unavailable' }]);
    expect(logged).toMatchObject([{ event: 'store_unavailable', path: '/extended' }]);
  });

  test('lacks an index, without logging each request', async () => {
    const { json, logged } = testApp(failingIndex(new IndexUnavailableError('There is no index.')));
    expect(await json('/extended')).toMatchObject({ status: 503 });
    expect(logged).toEqual([]);
  });
});

test("a parameter's error has all members in order", async () => {
  const response = await sampleApp.request('/extended/v3/transactions?limit=51');
  expect(await response.text()).toBe(
    '{"statusCode":400,"code":"VALIDATION","error":"Bad Request","message":"querystring/limit must be <= 50"}',
  );
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(response.headers.has('etag')).toBe(false);
});

test('an invalid parameter is rejected even if the ETag would match', async () => {
  const { status } = await sampleApp.json(`/extended/v3/principals/${MISTYPED}/nonces`, {
    headers: { 'if-none-match': `"${bytes(0xc3).toHex()}-103-7"` },
  });
  expect(status).toBe(400);
});

test('a node that posts an event to the API gets 404 with the setting of the event port', async () => {
  const { status, body } = await sampleApp.json('/new_block', { method: 'POST', body: '{}' });
  expect(status).toBe(404);
  expect(body).toMatchObject({ message: expect.stringMatching(/^Route POST:\/new_block not found\. .*--event-port$/) });
});
