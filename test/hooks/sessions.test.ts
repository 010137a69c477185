/** Browser sign-in: links work once, sessions end, and the cookie works only for pages of this origin. */
import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { access } from '../../src/hooks/access/access.ts';
import { keyOf, readAdminKey, wrongKeys } from '../../src/hooks/access/keys.ts';
import { openSessions } from '../../src/hooks/access/sessions.ts';
import { HookProblem } from '../../src/hooks/problem.ts';
import { stacksideIn } from '../e2e/stackside.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { type Serving, serving } from '../support/servers/serving.ts';

const HOST = '127.0.0.1:3999';
const ADMIN = 'ad'.repeat(32);
const OPERATOR = { consumer: 'default', isOperator: true };
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const PATH = '/stackside/v1/session';

/** Sessions with a clock that stands still until it is moved. */
function sessionsAt(start = 1_000_000) {
  const clock = { now: start, monotonic: null as number | null };
  const times = { now: () => clock.now, monotonic: () => clock.monotonic ?? clock.now };
  return { clock, ...openSessions(times) };
}

describe('sessions', () => {
  test('a link works once, within 15 minutes', () => {
    const { clock, link, redeem } = sessionsAt();
    const { secret, expiresAt } = link(OPERATOR);
    expect([secret.length, expiresAt - clock.now]).toEqual([64, 15 * MINUTE]);
    expect([redeem(`${secret}0`), redeem(''), redeem(secret), redeem(secret)]).toEqual([null, null, OPERATOR, null]);
    const late = link(OPERATOR).secret;
    clock.now += 15 * MINUTE;
    expect(redeem(late)).toBeNull();
  });

  test('a session ends a day after its last request, after a week at most, or when it is closed', () => {
    const { clock, begin, find, end, redeem } = sessionsAt();
    const began = clock.now;
    const { secret, expiresAt } = begin(OPERATOR);
    expect(expiresAt - began).toBe(24 * HOUR);
    for (let hour = 23; hour < 7 * 24; hour += 23) {
      clock.now = began + hour * HOUR;
      const expiresAt = Math.min(clock.now + 24 * HOUR, began + 7 * 24 * HOUR);
      expect(find(secret)).toEqual({ caller: OPERATOR, expiresAt });
    }
    clock.now = began + 7 * 24 * HOUR;
    expect(find(secret)).toBeNull();
    const idle = begin(OPERATOR).secret;
    clock.now += 24 * HOUR;
    expect(find(idle)).toBeNull();
    const ended = begin(OPERATOR).secret;
    end(ended);
    expect([find(ended), redeem(begin(OPERATOR).secret)]).toEqual([null, null]);
  });

  test('setting the system clock back extends neither links nor sessions, and setting it forward ends them', () => {
    const { clock, link, redeem, begin, find } = sessionsAt();
    clock.monotonic = 0;
    const [token, idle, cookie] = [link(OPERATOR).secret, begin(OPERATOR).secret, begin(OPERATOR).secret];
    const began = clock.now;
    clock.now -= HOUR;
    clock.monotonic += 15 * MINUTE;
    expect(redeem(token)).toBeNull();
    for (let hour = 23; hour < 7 * 24; hour += 23) {
      clock.monotonic = hour * HOUR;
      const remaining = Math.min(24, 7 * 24 - hour) * HOUR;
      expect(find(cookie)).toEqual({ caller: OPERATOR, expiresAt: clock.now + remaining });
    }
    expect(find(idle)).toBeNull();
    clock.monotonic = 7 * 24 * HOUR;
    expect(find(cookie)).toBeNull();
    // A machine that sleeps stops the monotonic clock.
    const next = begin(OPERATOR).secret;
    clock.now = began + 24 * HOUR;
    expect(find(next)).toBeNull();
  });

  test("a caller's many links and sessions end no other caller's", () => {
    const { link, redeem, begin, find } = sessionsAt();
    // The consumer of the operator's hooks is also a different caller than the operator.
    const others = ['alice', 'default'].map((consumer) => ({ consumer, isOperator: false }));
    const [token, cookie] = [link(OPERATOR).secret, begin(OPERATOR).secret];
    for (const caller of others) {
      for (let i = 0; i < 105; i++) link(caller);
      for (let i = 0; i < 1_005; i++) begin(caller);
    }
    expect([redeem(token), find(cookie)?.caller]).toEqual([OPERATOR, OPERATOR]);
  });

  test("a caller's oldest link and oldest session are dropped at the limit", () => {
    const { link, redeem, begin, find } = sessionsAt();
    const links = Array.from({ length: 101 }, () => link(OPERATOR).secret);
    expect([redeem(links[0]!), redeem(links[1]!)]).toEqual([null, OPERATOR]);
    const sessions = Array.from({ length: 1_001 }, () => begin(OPERATOR).secret);
    expect([find(sessions[0]!), find(sessions[1]!)]).toEqual([null, expect.objectContaining({ caller: OPERATOR })]);
  });
});

describe('a request with the cookie', () => {
  const sessions = openSessions({ now: () => 0, monotonic: () => 0 });
  const keys = { consumers: [keyOf('alice', 'short-key')], admin: ADMIN };
  const { callerOf } = access({ keys, hosts: [], wrongKeys: wrongKeys(() => {}), sessions });
  const cookie = `stackside_session_3999=${sessions.begin(OPERATOR).secret}`;

  /** The answer's status, or 200. */
  function statusOf(method: string, headers: Record<string, string>): number {
    try {
      callerOf(new Request('http://x/chainhooks/me', { method, headers: { host: HOST, cookie, ...headers } }), '');
      return 200;
    } catch (error) {
      if (error instanceof HookProblem) return error.status;
      throw error;
    }
  }

  const sameOrigin = { 'sec-fetch-site': 'same-origin' };

  test('is accepted from a page of this origin', () => {
    for (const method of ['GET', 'POST', 'PATCH', 'DELETE']) {
      expect(statusOf(method, { ...sameOrigin, origin: `http://${HOST}` })).toBe(200);
      // A proxy in front speaks to us by another name than the browser does to it.
      if (method !== 'GET') expect(statusOf(method, { ...sameOrigin, origin: 'https://api.example.org' })).toBe(200);
      expect(statusOf(method, { origin: `http://${HOST}` })).toBe(200);
    }
    expect([statusOf('GET', {}), statusOf('GET', { 'sec-fetch-site': 'none' })]).toEqual([200, 200]);
  });

  test('is rejected for a change unless the browser reports this origin', () => {
    const foreign: Record<string, string>[] = [
      {},
      { origin: 'null' },
      { origin: 'https://evil.example' },
      { origin: 'http://127.0.0.1:4000' },
      { 'sec-fetch-site': 'none' },
      { 'sec-fetch-site': 'same-site', origin: `http://${HOST}` },
      { 'sec-fetch-site': 'cross-site', origin: `http://${HOST}` },
    ];
    for (const headers of foreign) {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'PURGE']) {
        expect([method, headers, statusOf(method, headers)]).toEqual([method, headers, 403]);
      }
    }
    for (const site of ['same-site', 'cross-site']) expect(statusOf('GET', { 'sec-fetch-site': site })).toBe(403);
  });

  test("is rejected for another host name, and doesn't sign in with a wrong key or cookie", () => {
    expect(statusOf('GET', { host: 'evil.example:3999' })).toBe(421);
    expect(statusOf('GET', { 'x-api-key': 'wrong-key' })).toBe(401);
    // Another server on this host, or one that has the name without a port.
    expect(statusOf('GET', { host: '127.0.0.1:4000' })).toBe(401);
    for (const wrong of ['', 'stackside_session_3999=', 'stackside_session_3999=%zz', '; =; %', cookie.slice(0, -1)]) {
      expect([wrong, statusOf('GET', { cookie: wrong })]).toEqual([wrong, 401]);
    }
  });
});

/** The part of a browser's cookie handling that these tests need. */
function browser(server: Serving) {
  let cookie = '';
  const origin = { 'sec-fetch-site': 'same-origin' };
  return {
    cookie: () => cookie,
    async ask(method: string, path: string, headers: Record<string, string> = origin) {
      const response = await server.get(path, { method, headers: { ...headers, ...(cookie && { cookie }) } });
      const set = response.headers.get('set-cookie');
      if (set !== null) cookie = /Max-Age=0/.test(set) ? '' : (set.split(';')[0] ?? '');
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
    },
  };
}

const nobody = { access: 'key', signed_in: false, operator: false, consumer: null, expires_at: null };

describe.each(['0', '2'])('a server with %s threads', (threads) => {
  const keys = dataDirectory();
  afterAll(() => keys[Symbol.dispose]());

  test('signs in with a link and with a key, and signs out', async () => {
    const file = join(keys.path, 'keys');
    await Bun.write(file, 'alice first-key\n');
    await using server = await serving({ threads, hookKeys: file });
    const admin = { 'x-api-key': readAdminKey(server.directory) ?? '' };
    const { ask, cookie } = browser(server);
    expect(await ask('GET', PATH)).toMatchObject({ status: 200, body: nobody });
    expect((await ask('GET', '/chainhooks/me')).status).toBe(401);
    expect((await ask('POST', `${PATH}/links`)).status).toBe(401);

    const answer = await ask('POST', `${PATH}/links`, admin);
    const { path } = answer.body;
    expect(path).toMatch(/^\/stackside\/v1\/session\/sign-in\?token=[0-9a-f]{64}$/);
    expect((await server.get(path, { method: 'HEAD' })).status).toBe(204);
    // A link on a page of somebody else could sign in the operator as another consumer.
    const linked = await ask('GET', path, { 'sec-fetch-site': 'cross-site' });
    expect([linked.status, linked.body.details, linked.headers.get('set-cookie')]).toEqual([
      403,
      'Another page opened this link; copy it and paste it into the address bar',
      null,
    ]);
    const followed = await ask('GET', path, { 'sec-fetch-site': 'none' });
    const { status, headers } = followed;
    expect([status, headers.get('location'), headers.get('referrer-policy')]).toEqual([302, '/', 'no-referrer']);
    const { port } = new URL(server.api);
    expect(followed.headers.get('set-cookie')).toMatch(
      new RegExp(`^stackside_session_${port}=[0-9a-f]{64}; Max-Age=604800; Path=/; HttpOnly; SameSite=Strict$`),
    );
    expect((await ask('GET', PATH)).body).toMatchObject({ access: 'key', signed_in: true, operator: true });
    expect((await ask('GET', '/chainhooks/consumers')).status).toBe(200);
    // Used up for others; here somebody is signed in.
    expect((await ask('GET', path)).status).toBe(302);
    const used = { details: 'The link was already used or has expired; `stackside console` prints a new one' };
    expect(await browser(server).ask('GET', path)).toMatchObject({ status: 401, body: used });
    // A session makes no links: it would outlive itself.
    expect((await ask('POST', `${PATH}/links`)).status).toBe(401);

    expect((await ask('PATCH', '/chainhooks/me/enabled', {})).status).toBe(403);
    expect((await ask('DELETE', PATH, {})).status).toBe(403);
    const old = cookie();
    expect([(await ask('DELETE', PATH)).status, cookie()]).toEqual([204, '']);
    expect((await server.get('/chainhooks/me', { headers: { cookie: old } })).status).toBe(401);
    expect((await ask('DELETE', PATH)).status).toBe(204);

    const secure = { 'x-forwarded-proto': 'https', 'x-api-key': 'first-key' };
    const alice = await ask('POST', PATH, secure);
    expect(alice.body).toMatchObject({ access: 'key', signed_in: true, operator: false, consumer: 'alice' });
    expect(alice.headers.get('set-cookie')).toEndWith('; Secure');
    expect((await ask('GET', '/chainhooks/consumers')).status).toBe(403);
    expect((await ask('GET', '/chainhooks/me')).body).toMatchObject({ total: 0 });
    expect((await ask('GET', PATH, { host: 'evil.example' })).status).toBe(421);
    expect((await ask('POST', PATH, { 'x-api-key': 'wrong-key' })).status).toBe(401);
  });
});

test('signing in is unnecessary with open access, and impossible if hooks are not served', async () => {
  await using server = await serving({ hookAccess: 'open' });
  const { ask } = browser(server);
  const everybody = { access: 'open', signed_in: true, operator: true, consumer: 'default', expires_at: null };
  expect((await ask('GET', PATH)).body).toEqual(everybody);
  expect((await ask('POST', `${PATH}/links`)).body).toEqual({ path: '/', expires_at: null });
  expect((await ask('GET', `${PATH}/sign-in?token=x`)).status).toBe(302);
  expect((await ask('GET', PATH, { origin: 'https://evil.example' })).status).toBe(403);
  await using reading = await serving({ mode: 'read' }, server.directory);
  expect((await browser(reading).ask('GET', PATH)).body).toEqual({ ...nobody, access: 'none' });
  expect((await browser(reading).ask('POST', PATH)).status).toBe(503);
});

test('`stackside console` prints a sign-in link with the key of the data directory', async () => {
  await using server = await serving({});
  const run = (...args: string[]) => stacksideIn({}, 'console', '--url', server.api, ...args);
  const { code, stdout, stderr } = await run('--data', server.directory);
  const note = expect.stringMatching(/^The link signs one browser in, once, until \d\d:\d\d UTC/);
  expect([code, stderr]).toEqual([0, note]);
  const link = new URL(stdout.trim());
  expect(link.origin).toBe(server.api);
  expect((await server.get(link.pathname + link.search)).status).toBe(302);
  using empty = dataDirectory();
  expect(await run('--data', empty.path)).toMatchObject({ code: 1, stdout: '' });
});
