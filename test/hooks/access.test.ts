/** Access to chainhooks: with a key, or with open access for any client on this machine except pages of another origin. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import fc from 'fast-check';
import { OperatorError } from '../../src/base/errors.ts';
import { requireLoopback } from '../../src/commands/serve/start-checks.ts';
import { type Access, access, consumerOf } from '../../src/hooks/access/access.ts';
import { adminKeyFile, adminKeyOf, keyOf, readAdminKey, readKeys, wrongKeys } from '../../src/hooks/access/keys.ts';
import { openSessions } from '../../src/hooks/access/sessions.ts';
import { HookProblem } from '../../src/hooks/problem.ts';
import type { HookEvent } from '../../src/hooks/reporting.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { failureOf } from '../support/failure.ts';
import { assertProperty, Seen } from '../support/property.ts';
import { type Serving, serving } from '../support/servers/serving.ts';
import { definition, hookServer } from './server.ts';

const ADMIN = 'ad'.repeat(32);
const HOST = '127.0.0.1:3999';
const URL_OK = 'https://127.0.0.1/hook';
const valid = definition(URL_OK, [{ type: 'coinbase' }]);
const as = (key: string) => ({ 'x-api-key': key });

const asks = (headers: Record<string, string>) => new Request('http://x/', { headers: { host: HOST, ...headers } });
const problem = (attempt: () => unknown): HookProblem | null => {
  try {
    attempt();
    return null;
  } catch (error) {
    if (error instanceof HookProblem) return error;
    throw error;
  }
};

/** Access with a clock that stands still until it is moved. `behind`: milliseconds by which the wall clock is set back. */
function withKeys(hosts: string[] = []) {
  const clock = { now: 1_000_000, behind: 0 };
  const logged: HookEvent[] = [];
  const times = { now: () => clock.now - clock.behind, monotonic: () => clock.now };
  const tries = wrongKeys((event) => logged.push(event), times);
  const consumers = [keyOf('alice', 'short-key'), keyOf('bob', 'b'.repeat(32))];
  const sessions = openSessions(times);
  return { clock, logged, tries, ...access({ keys: { consumers, admin: ADMIN }, hosts, wrongKeys: tries, sessions }) };
}
const sessions = openSessions({ now: () => 0, monotonic: () => 0 });
const open = (): Access => access({ keys: null, hosts: [], wrongKeys: wrongKeys(() => {}), sessions });

describe('with keys', () => {
  test('only a key identifies the caller', () => {
    const { callerOf } = withKeys();
    const proxies = { forwarded: 'for=127.0.0.1', 'x-forwarded-for': '127.0.0.1', 'x-real-ip': '127.0.0.1' };
    const others = { host: 'localhost', via: '1.1 proxy', 'x-stackside-peer': '127.0.0.1', 'x-api-key': '' };
    const local = Object.entries({ ...proxies, ...others, authorization: 'Basic YTpi' });
    for (const headers of [{}, ...local.map((header) => Object.fromEntries([header]))]) {
      for (const peer of ['127.0.0.1', '::1', '']) {
        const refused = problem(() => callerOf(asks(headers), peer));
        expect(refused).toMatchObject({ status: 401, message: 'Missing or invalid API key' });
      }
    }
    expect(callerOf(asks(as('short-key')), '192.0.2.1')).toEqual({ consumer: 'alice', isOperator: false });
    expect(callerOf(asks({ authorization: `Bearer ${ADMIN}` }), '')).toEqual({ consumer: 'default', isOperator: true });
    // x-api-key comes first.
    const both = { ...as('short-key'), authorization: `Bearer ${ADMIN}` };
    expect(callerOf(asks(both), '').consumer).toBe('alice');
  });

  test('the operator acts for any consumer, and other callers only for themselves', () => {
    const operator = { consumer: 'default', isOperator: true };
    const alice = { consumer: 'alice', isOperator: false };
    const forBob = asks({ 'x-chainhook-consumer': 'bob' });
    expect(consumerOf(asks({}), operator, undefined)).toBe('default');
    expect(consumerOf(asks({}), operator, 'alice')).toBe('alice');
    expect(consumerOf(forBob, operator, undefined)).toBe('bob');
    expect(consumerOf(forBob, operator, 'alice')).toBe('bob');
    expect(consumerOf(asks({}), alice, 'bob')).toBe('alice');
    expect(consumerOf(asks({ 'x-chainhook-consumer': 'alice' }), alice, 'bob')).toBe('alice');
    expect(problem(() => consumerOf(forBob, alice, undefined))?.status).toBe(403);
  });

  test('a request with a foreign Host is rejected, even with a key', () => {
    const { callerOf } = withKeys(['api.example.org', 'Stacks.Internal']);
    const answer = (host: string) => problem(() => callerOf(asks({ host, ...as(ADMIN) }), ''))?.status ?? 200;
    const ownHosts = ['localhost', 'LOCALHOST:3999', '127.0.0.1', '[::1]:3999', '10.1.2.3:80', 'api.example.org:443'];
    for (const host of [...ownHosts, 'API.example.org.', 'stacks.internal'])
      expect([host, answer(host)]).toEqual([host, 200]);
    const foreign = ['', 'localhost.', '127.0.0.1.', 'api.example.org.'].map((start) => `${start}evil.example`);
    for (const host of [...foreign, 'evil.example:3999', 'user@localhost', '[::1', 'localhost:x']) {
      expect([host, answer(host)]).toEqual([host, 421]);
    }
    expect(problem(() => callerOf(new Request('http://x/', { headers: as(ADMIN) }), ''))?.status).toBe(421);
  });
});

describe('with open access', () => {
  const answer = (headers: Record<string, string>) => problem(() => open().callerOf(asks(headers), ''))?.status ?? 200;

  test("any request to a loopback host is the operator's, with or without a key", () => {
    for (const host of ['127.0.0.1:3999', 'localhost', '[::1]:3999', '127.9.9.9']) {
      expect(open().callerOf(asks({ host, ...as('any') }), '')).toEqual({ consumer: 'default', isOperator: true });
    }
    for (const host of ['evil.example', '10.1.2.3', '0.0.0.0', '[::]', '[::ffff:10.0.0.1]']) {
      expect([host, answer({ host })]).toEqual([host, 421]);
    }
  });

  test('requests from pages of other origins are rejected', () => {
    expect(answer({ origin: `http://${HOST}`, 'sec-fetch-site': 'same-origin' })).toBe(200);
    expect(answer({ origin: `http://${HOST}` })).toBe(200);
    expect(answer({ 'sec-fetch-site': 'none' })).toBe(200);
    const foreign: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'http://127.0.0.1:4000' },
      { origin: 'http://localhost:3999' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: `http://${HOST}`, 'sec-fetch-site': 'cross-site' },
    ];
    for (const headers of foreign) expect([headers, answer(headers)]).toEqual([headers, 403]);
  });

  const reachable = ['0.0.0.0', '::', '10.1.2.3', 'both.example', 'nobody.example', 'none.example'];
  test.each([
    ['127.0.0.1', '127.0.0.1', null],
    ['localhost', '::1', null],
    ['[::1]', '127.0.0.2', null],
    ...reachable.map((host) => [host, '127.0.0.1', '--api-host'] as const),
    ['127.0.0.1', '0.0.0.0', '--event-host'],
  ] as const)('listening on %p and %p', async (apiHost, eventHost, refusal) => {
    const both = ['127.0.0.1', '10.0.0.1'];
    const names: Record<string, string[]> = { localhost: ['127.0.0.1', '::1'], 'both.example': both };
    const resolve = async (host: string) => {
      if (host === 'none.example') throw new Error('getaddrinfo ENOTFOUND none.example');
      return names[host] ?? [];
    };
    const attempt = requireLoopback({ mode: 'full', apiHost, eventHost }, resolve);
    if (refusal === null) return await attempt;
    expect(attempt).rejects.toThrow(OperatorError);
    expect(attempt).rejects.toThrow(`${refusal} is `);
  });

  test('checks only the addresses that the mode listens on', async () => {
    await requireLoopback({ mode: 'write', apiHost: '0.0.0.0', eventHost: '127.0.0.1' });
    await requireLoopback({ mode: 'read', apiHost: '127.0.0.1', eventHost: '0.0.0.0' });
  });
});

describe('wrong keys', () => {
  const WRONG = 'wrong-key';
  const status = ({ callerOf }: Access, key: string, peer: string) =>
    problem(() => callerOf(asks(as(key)), peer))?.status ?? 200;
  const guess = (access: Access, peer: string, times: number) =>
    Array.from({ length: times }, () => status(access, WRONG, peer));

  test('are rate-limited only for the address that they come from', () => {
    const keyed = withKeys();
    expect(guess(keyed, '192.0.2.1', 12)).toEqual([...new Array(10).fill(401), 429, 429]);
    const slow = problem(() => keyed.callerOf(asks(as(WRONG)), '192.0.2.1'));
    expect(slow).toBeInstanceOf(HookProblem);
    expect((slow as HookProblem).headers).toEqual({ 'retry-after': '6' });
    // A key that can be guessed isn't looked at: a guess would differ from a miss.
    expect(status(keyed, 'short-key', '192.0.2.1')).toBe(429);
    expect(status(keyed, 'short-key', '192.0.2.2')).toBe(200);
    // Nobody guesses these: they are looked at wherever they come from, such as a proxy.
    expect([status(keyed, ADMIN, '192.0.2.1'), status(keyed, 'b'.repeat(32), '192.0.2.1')]).toEqual([200, 200]);
    expect(status(keyed, 'c'.repeat(32), '192.0.2.1')).toBe(429);
    // Requests without a key don't count as guesses.
    expect(problem(() => keyed.callerOf(asks({}), '192.0.2.1'))?.status).toBe(401);
    keyed.clock.now += 6_000;
    expect(guess(keyed, '192.0.2.1', 2)).toEqual([401, 429]);
    keyed.clock.now += 6_000;
    expect(status(keyed, 'short-key', '192.0.2.1')).toBe(200);
    expect(keyed.tries.total()).toBe(17);
  });

  test("in a flood don't delay the time when the next key is checked", () => {
    const keyed = withKeys();
    guess(keyed, '192.0.2.1', 10);
    for (let second = 1; second < 6; second++) {
      keyed.clock.now += 1_000;
      expect(new Set(guess(keyed, '192.0.2.1', 50))).toEqual(new Set([429]));
    }
    keyed.clock.now += 1_000;
    expect(status(keyed, 'short-key', '192.0.2.1')).toBe(200);
  });

  test('delay no key for longer because the wall clock is set back', () => {
    const keyed = withKeys();
    guess(keyed, '192.0.2.1', 10);
    keyed.clock.behind = 3_600_000;
    keyed.clock.now += 6_000;
    expect(status(keyed, 'short-key', '192.0.2.1')).toBe(200);
  });

  test('have a limit over all addresses, but an address without failures can always try a key', () => {
    const keyed = withKeys();
    const addresses = Array.from({ length: 60 }, (_, index) => `198.51.100.${index}`);
    const looked = addresses.flatMap((address) => guess(keyed, address, 5)).filter((code) => code === 401).length;
    // A hundred at once, and then the first of each other address.
    expect(looked).toBe(100 + 40);
    expect(status(keyed, 'short-key', '203.0.113.1')).toBe(200);
    // An address with a wrong key that waited until its failures expired, while others continued.
    guess(keyed, '192.0.2.1', 1);
    keyed.clock.now += 6_000;
    addresses.flatMap((address) => guess(keyed, address, 5));
    expect(status(keyed, 'short-key', '192.0.2.1')).toBe(200);
  });

  test('count together for an IPv6 network, and for a mapped address with its IPv4 address', () => {
    const keyed = withKeys();
    for (let host = 1; host <= 10; host++) guess(keyed, `2001:db8:1:2::${host}`, 1);
    expect(status(keyed, WRONG, '2001:db8:1:2:ffff::1')).toBe(429);
    expect(status(keyed, WRONG, '2001:db8:1:3::1')).toBe(401);
    guess(keyed, '::ffff:192.0.2.1', 10);
    expect(status(keyed, WRONG, '192.0.2.1')).toBe(429);
  });

  test('are logged in one line a minute, with their number', () => {
    const keyed = withKeys();
    guess(keyed, '192.0.2.1', 30);
    keyed.clock.now += 59_999;
    guess(keyed, '192.0.2.2', 1);
    expect(keyed.logged).toEqual([{ event: 'hook_keys_refused', count: 1, address: '192.0.2.1' }]);
    keyed.clock.now += 1;
    guess(keyed, '192.0.2.3', 1);
    expect(keyed.logged[1]).toEqual({ event: 'hook_keys_refused', count: 31, address: '192.0.2.3' });
  });

  test('never block a valid long key, or a valid key from an address without failures', () => {
    const step = fc.record({ peer: fc.nat(30), times: fc.nat(15), pause: fc.nat(10_000) });
    const seen = new Seen({ guesses: 60 });
    assertProperty(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const keyed = withKeys();
        for (const { peer, times, pause } of steps) {
          guess(keyed, `198.51.100.${peer}`, times);
          seen.add('guesses', times);
          keyed.clock.now += pause;
          expect(status(keyed, ADMIN, `198.51.100.${peer}`)).toBe(200);
          expect(status(keyed, 'short-key', '203.0.113.1')).toBe(200);
        }
      }),
      { seen, cases: 20 },
    );
  });

  test('are forgotten for the oldest addresses beyond 20,000, but not below 10,000', () => {
    const keyed = withKeys();
    guess(keyed, '192.0.2.1', 11);
    expect(status(keyed, WRONG, '192.0.2.1')).toBe(429);
    const others = (first: number, end: number) => {
      for (let address = first; address < end; address++) guess(keyed, `10.0.${address >> 8}.${address & 255}`, 1);
    };
    others(0, 9_900);
    expect(status(keyed, WRONG, '192.0.2.1')).toBe(429);
    others(9_900, 30_000);
    expect(status(keyed, WRONG, '192.0.2.1')).toBe(401);
  });
});

describe('the admin key', () => {
  test('is created once, readable only by its owner, and then kept', () => {
    using directory = dataDirectory();
    expect(readAdminKey(directory.path)).toBeNull();
    const key = adminKeyOf(directory.path);
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(statSync(adminKeyFile(directory.path)).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory.path)).toEqual(['admin.key']);
    expect([adminKeyOf(directory.path), readAdminKey(directory.path)]).toEqual([key, key]);
    rmSync(adminKeyFile(directory.path));
    expect(adminKeyOf(directory.path)).not.toBe(key);
  });

  test('is created even if a crash left a partial file', () => {
    using directory = dataDirectory();
    const partial = `${adminKeyFile(directory.path)}.partial`;
    writeFileSync(partial, 'ab', { mode: 0o644 });
    expect(adminKeyOf(directory.path)).toMatch(/^[0-9a-f]{64}$/);
    expect(statSync(adminKeyFile(directory.path)).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory.path)).toEqual(['admin.key']);
  });

  test.each(['', '\n', 'ab'.repeat(31), `${'ab'.repeat(32)} more`, 'XY'.repeat(32)])(
    'is reported and kept if damaged: %p',
    async (text) => {
      using directory = dataDirectory();
      writeFileSync(adminKeyFile(directory.path), text);
      expect(() => adminKeyOf(directory.path)).toThrow(OperatorError);
      expect(serving({}, directory.path)).rejects.toThrow('holds no admin key');
      expect(readFileSync(adminKeyFile(directory.path), 'utf8')).toBe(text);
    },
  );

  test("returns an error if its file can't be read or written", () => {
    using directory = dataDirectory();
    mkdirSync(adminKeyFile(directory.path));
    expect(() => readAdminKey(directory.path)).toThrow("can't be read");
    expect(() => adminKeyOf(join(directory.path, 'nowhere'))).toThrow("can't be written");
  });
});

describe('an admin key file named by the operator', () => {
  const ownKey = 'ab'.repeat(32);

  test('works on every host, and no other key is created', async () => {
    using files = dataDirectory();
    const file = join(files.path, 'shared.key');
    writeFileSync(file, `${ownKey}\n`, { mode: 0o600 });
    await using first = await serving({ adminKey: file });
    await using second = await serving({}, undefined, { STACKSIDE_ADMIN_KEY_FILE: file });
    for (const server of [first, second]) {
      expect(readAdminKey(server.directory)).toBeNull();
      const statusWith = async (key: string) =>
        (await server.get('/stackside/v1/system', { headers: { 'x-api-key': key } })).status;
      expect([await statusWith(ownKey), await statusWith('cd'.repeat(32))]).toEqual([200, 401]);
    }
  });

  test('stops the start and stays unchanged if missing, empty, damaged or readable by everyone', async () => {
    using files = dataDirectory();
    const file = join(files.path, 'shared.key');
    const refusal = async () => {
      const refused = await serving({ adminKey: file }, join(files.path, 'data')).catch((error: unknown) => error);
      return refused instanceof OperatorError ? [refused.message, refused.remedy] : refused;
    };
    expect(await refusal()).toEqual([`${file} doesn't exist.`, 'Check --admin-key.']);
    expect(readdirSync(files.path)).not.toContain('shared.key');
    for (const text of ['', '\n', 'ab'.repeat(31), `${ownKey}\n${ownKey}`, ownKey.toUpperCase()]) {
      writeFileSync(file, text, { mode: 0o600 });
      expect(await refusal()).toEqual([
        `${file} holds no admin key, which has 64 hex digits in lower case.`,
        expect.stringContaining('openssl rand -hex 32'),
      ]);
      expect(readFileSync(file, 'utf8')).toBe(text);
    }
    writeFileSync(file, ownKey);
    chmodSync(file, 0o644);
    const problem = `Every user of this machine may read ${file} or write to it.`;
    expect(await refusal()).toEqual([problem, `Run chmod 600 ${file}.`]);
  });
});

test('a key file is read, or rejected with the line number', () => {
  expect(() => readKeys('alice', 'keys')).toThrow('Line 1 of keys');
  expect(() => readKeys('alice first-key\nbob second key\n', 'keys')).toThrow('Line 2 of keys');
  expect(() => readKeys('alice short', 'keys')).toThrow('Line 1 of keys');
  expect(() => readKeys('# none', 'keys')).toThrow('has no keys');
  const digest = new Bun.CryptoHasher('sha256').update('first-key').digest('hex');
  for (const wrong of [digest.slice(1), `${digest}0`, digest.replace(/.$/, 'x'), '']) {
    const lines = `alice SHA256:${digest}\nbob sha256:${wrong}`;
    expect(() => readKeys(lines, 'keys')).toThrow('Line 2 of keys');
  }
  const twice = 'alice first-key\nbob second-key\n\ncarol first-key';
  expect(() => readKeys(twice, 'keys')).toThrow('Line 4 of keys has the same key as line 1.');
});

describe('a server', () => {
  test('with keys, consumers see only hooks that they registered, and the operator sees all', async () => {
    using directory = dataDirectory();
    const file = join(directory.path, 'keys');
    const hashed = new Bun.CryptoHasher('sha256').update('third-key').digest('hex');
    await Bun.write(file, `# keys\nalice first-key\nalice second-key\n\nbob sha256:${hashed}\n`);
    await using server = await hookServer({ hookAccess: 'key', hookKeys: file });
    const registered = await server.request('POST', '/chainhooks/me', valid, as('first-key'));
    expect(registered.status).toBe(200);
    const path = `/chainhooks/me/${registered.body.uuid}`;
    const get = (headers: Record<string, string>, target = path) => server.request('GET', target, undefined, headers);
    expect((await get(as('second-key'))).status).toBe(200);
    expect((await get({ authorization: 'Bearer second-key' })).status).toBe(200);
    for (const method of ['GET', 'DELETE'])
      expect((await server.request(method, path, undefined, as('third-key'))).status).toBe(404);
    expect((await get(as('third-key'), '/chainhooks/me')).body.total).toBe(0);
    for (const headers of [{}, as('no-key'), { authorization: 'Bearer x' }, { 'x-forwarded-for': '127.0.0.1' }]) {
      const body = { error: 'Unauthorized', details: 'Missing or invalid API key' };
      expect(await get(headers)).toEqual({ status: 401, body });
    }
    expect((await server.request('GET', '/chainhooks')).status).toBe(200);

    const admin = as(readAdminKey(server.directory) ?? '');
    expect((await get(admin, '/chainhooks/me')).body.total).toBe(0);
    expect((await get(admin, '/chainhooks/consumers')).body).toEqual({
      results: [{ consumer: 'alice', hooks: 1, failing: 0 }],
    });
    expect((await get(as('first-key'), '/chainhooks/consumers')).status).toBe(403);
    const forAlice = { ...admin, 'x-chainhook-consumer': 'alice' };
    expect((await get(forAlice, '/chainhooks/me')).body.total).toBe(1);
    expect((await get({ ...as('third-key'), 'x-chainhook-consumer': 'alice' }, '/chainhooks/me')).status).toBe(403);
    expect((await get(admin, path.toUpperCase().replace('/CHAINHOOKS/ME', '/chainhooks/me'))).status).toBe(200);
    expect((await server.request('DELETE', path, undefined, admin)).status).toBe(204);
    expect((await get(as('first-key'), '/chainhooks/me')).body.total).toBe(0);
  });

  /** Every route of chainhooks but the status. */
  const everyRoute = async (api: string): Promise<[method: string, path: string][]> => {
    const document = (await (await fetch(`${api}/docs/json`)).json()) as { paths: Record<string, object> };
    const operationsOf = (path: string) =>
      path.replace('{uuid}', crypto.randomUUID()).replace('{id}', 'evt_00').replace('{job}', crypto.randomUUID());
    return Object.entries(document.paths).flatMap(([path, methods]) =>
      path.startsWith('/chainhooks/')
        ? Object.keys(methods).map((method): [string, string] => [method.toUpperCase(), operationsOf(path)])
        : [],
    );
  };

  /** A request from another loopback address, which only Linux allows for any program. */
  const statusFrom = (localAddress: string, api: string, headers: Record<string, string>): Promise<number> =>
    new Promise((resolve, reject) => {
      const options = { path: '/chainhooks/me', localAddress, headers, agent: false };
      const request = http.get(api, options, (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      });
      request.on('error', reject);
    });

  describe.each(['0', '1'])('with %s threads', (threads) => {
    let server: Serving;
    beforeAll(async () => {
      server = await serving({ threads });
    });
    afterAll(() => server[Symbol.asyncDispose]());

    test('every route except the public status needs a key', async () => {
      const admin = as(readAdminKey(server.directory) ?? '');
      const routes = await everyRoute(server.api);
      expect(routes.length).toBeGreaterThan(20);
      for (const [method, path] of routes) {
        for (const url of [path, path.replace('/chainhooks', '/chainhooks/v1')]) {
          const status = async (headers: Record<string, string>) => (await server.get(url, { method, headers })).status;
          const statuses = [await status({}), await status({ ...admin, host: 'evil.example' })];
          expect({ method, url, statuses }).toEqual({ method, url, statuses: [401, 421] });
        }
      }
      expect((await server.get('/chainhooks')).status).toBe(200);
      expect((await server.get('/chainhooks/me', { headers: admin })).status).toBe(200);
    });

    test.skipIf(process.platform !== 'linux')('wrong keys slow down only the address that they come from', async () => {
      const wrong = (address: string) => statusFrom(address, server.api, as('wrong-key'));
      for (let n = 0; n < 10; n++) expect(await wrong('127.0.0.2')).toBe(401);
      expect([await wrong('127.0.0.2'), await wrong('127.0.0.3')]).toEqual([429, 401]);
    });
  });

  test("with threads: wrong keys count for the connection's address, not for one in headers", async () => {
    await using server = await serving({ threads: '1' });
    const guess = async (n: number, key: string) => {
      const headers = { ...as(key), 'x-forwarded-for': `192.0.2.${n}`, 'x-stackside-peer': `x 192.0.2.${n}` };
      return await server.get('/chainhooks/me', { headers });
    };
    for (let n = 0; n < 10; n++) expect((await guess(n, 'wrong-key')).status).toBe(401);
    const slow = await guess(11, 'wrong-key');
    expect([slow.status, Number(slow.headers.get('retry-after'))]).toEqual([429, expect.any(Number)]);
    expect(Number(slow.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await slow.json()).toEqual({
      error: 'Too many requests',
      details: 'Too many requests with wrong API keys came from your address',
    });
    expect((await guess(12, readAdminKey(server.directory) ?? '')).status).toBe(200);
    expect(await (await server.get('/metrics')).text()).toContain('\nchainhooks_auth_failures_total 11\n');
  });

  test('with open access listens only on the loopback, and rejects keys', async () => {
    using directory = dataDirectory();
    const start = (overrides: Record<string, string>) => serving({ hookAccess: 'open', ...overrides }, directory.path);
    const file = join(directory.path, 'keys');
    await Bun.write(file, 'alice first-key\n');
    // Open access is the default of a demo, so no remedy may omit it.
    const refusals: [overrides: Record<string, string>, message: string, otherwise: string][] = [
      [{ apiHost: '0.0.0.0' }, '--api-host is 0.0.0.0, which other machines can reach.', 'listen on 127.0.0.1.'],
      [{ eventHost: '::' }, '--event-host is ::, which other machines can reach.', 'listen on 127.0.0.1.'],
      [{ hookKeys: file }, "--hook-keys can't be combined with --hook-access open.", 'omit --hook-keys.'],
    ];
    for (const [overrides, message, otherwise] of refusals) {
      const remedy = `Set --hook-access key, or ${otherwise}`;
      expect(await failureOf(OperatorError, start(overrides))).toMatchObject({ message, remedy });
    }
  });

  test.each(['0', '1'])(
    'with open access and %s threads: answers programs, but no page of another origin',
    async (threads) => {
      await using server = await serving({ threads, hookAccess: 'open' });
      const statusOf = (path: string, init: RequestInit) => server.get(path, init).then(({ status }) => status);
      expect(await statusOf('/chainhooks/me', {})).toBe(200);
      expect(await statusOf('/chainhooks/consumers', {})).toBe(200);
      const origin = 'https://evil.example';
      expect(await statusOf('/chainhooks/me/secret', { method: 'POST', headers: { origin } })).toBe(403);
      expect(await statusOf('/chainhooks/me/secret', { headers: { 'sec-fetch-site': 'cross-site' } })).toBe(403);
      expect(await statusOf('/chainhooks/me', { headers: { host: 'evil.example' } })).toBe(421);
      const preflight = { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } };
      const refusal = await server.get('/chainhooks/me/secret', preflight);
      expect([refusal.status, refusal.headers.has('access-control-allow-methods')]).toEqual([403, false]);
      expect(await statusOf('/extended/v1/block', preflight)).toBe(204);
    },
  );

  const openAccess = expect.objectContaining({
    event: 'setup_warning',
    problem: expect.stringContaining('--hook-access open'),
    remedy: 'Let only trusted clients reach the ports, or set --hook-access key.',
  });
  test('with open access logs a warning', async () => {
    await using server = await hookServer();
    expect(server.logged).toContainEqual(openAccess);
    await using keyed = await hookServer({ hookAccess: 'key' });
    expect(keyed.logged).not.toContainEqual(openAccess);
  });
});
