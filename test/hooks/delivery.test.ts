/** Deliveries: their content, retries and redelivery. */
import { describe, expect, test } from 'bun:test';
import net from 'node:net';
import { systemClock } from '../../src/base/clock.ts';
import { retryWait } from '../../src/hooks/delivery/attempt.ts';
import { retryAfter } from '../../src/http/outgoing.ts';
import { simulatedEvents } from '../support/data/ingest.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';
import { payloadMistake } from './schemas.ts';
import {
  appliedHeights,
  type HookServer,
  hookServer,
  listHooks,
  NOWHERE,
  type Received,
  receiver,
  sequences,
  signatureOf,
  started,
  upTo,
} from './server.ts';

const BLOCKS = 20;
const events = simulatedEvents({ seed: 9, blocks: BLOCKS, accounts: 12, transactionsPerBlock: 6, forkEvery: 0 });
/** A time after everything in this test, in Unix milliseconds. */
const LAST = Date.parse('9999-12-31T00:00:00Z');
/** The deliveries that were answered with success. */
const log = async (server: HookServer, uuid: string, query = '') =>
  (await server.request('GET', `/chainhooks/me/${uuid}/deliveries?limit=50${query}`)).body;

test('a delivery has its headers and is signed with the secret, and after a rotation with both secrets', async () => {
  await using server = await hookServer();
  using target = receiver();
  const uuid = await server.register(target.url);
  server.ingest.receive(events[0]!);
  const first = events.findIndex(({ path }, index) => path === '/new_block' && index > 0);
  server.feed(events.slice(1, first + 1));
  await until(() => target.received.length === 1);
  const [unsigned] = target.received as [Received];
  expect(unsigned.headers).toMatchObject({
    'content-type': 'application/json',
    'user-agent': expect.stringMatching(/^stackside\/\d/),
    'webhook-id': expect.stringMatching(/^evt_[0-9a-f]{32}$/),
    'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
    'x-chainhook-uuid': uuid,
    'x-chainhook-sequence': '1',
    'x-chainhook-reason': 'live',
    'x-chainhook-attempt': '1',
  });
  for (const name of ['authorization', 'webhook-signature', 'x-chainhook-consumer-secret']) {
    expect(unsigned.headers[name]).toBeUndefined();
  }
  const { secret: oldSecret, signing_secret: whsec } = (await server.request('POST', '/chainhooks/me/secret')).body;
  expect(whsec).toBe(`whsec_${Buffer.from(oldSecret, 'hex').toString('base64')}`);
  const { secret: two } = (await server.request('POST', '/chainhooks/me/secret')).body;
  server.feed(events.slice(first + 1));
  await server.untilDrained(uuid);
  const signed = target.received.at(-1)!;
  expect(signed.headers.authorization).toBe(`Bearer ${two}`);
  expect(signed.headers['x-chainhook-consumer-secret']).toBe(two);
  expect(signed.headers['webhook-signature']).toBe(`${signatureOf(two, signed)} ${signatureOf(oldSecret, signed)}`);
  expect(sequences(target.received)).toEqual(upTo(target.received.length));
  for (const { payload } of target.received) expect(payloadMistake(payload)).toBeNull();
  await server.request('DELETE', '/chainhooks/me/secret');
  const repeated = await server.request('POST', `/chainhooks/me/${uuid}/test`, {});
  expect([repeated.status, repeated.body.ok]).toEqual([200, true]);
  expect(target.received.at(-1)?.headers.authorization).toBeUndefined();
});

/** A socket that is reset as soon as something comes. */
function resettingServer(): { url: string } & Disposable {
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => socket.resetAndDestroy());
  });
  server.listen(0, '127.0.0.1');
  const { port } = server.address() as net.AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, [Symbol.dispose]: () => void server.close() };
}

test('a failing receiver gets every delivery in order, each only after it accepted the previous one', async () => {
  const timeoutMs = 300;
  const clock = heldClock([timeoutMs]);
  await using server = await hookServer({}, undefined, { clock, deliveryRules: { timeoutMs } });
  using target = receiver();
  const accepted: number[] = [];
  let turn = 0;
  target.answer = ({ headers }) => {
    turn += 1;
    if (turn % 5 === 1) return new Response('busy', { status: 500 });
    if (turn % 5 === 2) return new Response('', { status: 302, headers: { location: '/elsewhere' } });
    if (turn % 5 === 3) {
      clock.pass(timeoutMs);
      return new Response('too late');
    }
    accepted.push(Number(headers['x-chainhook-sequence']));
    return new Response('x'.repeat(100_000), { status: 204 + (turn % 2) });
  };
  const uuid = await server.register(target.url);
  server.feed(events);
  await server.untilDrained(uuid);
  const { sequence } = server.hooks.store.records.find(uuid, 'default')!;
  expect(sequence).toBeGreaterThan(15);
  expect(accepted).toEqual(upTo(sequence));
  expect(sequences(target.received)).toEqual(sequences(target.received).toSorted((a, b) => a - b));
  const ids = new Map<string, Set<string>>();
  for (const { headers } of target.received) {
    const earlier = ids.get(headers['x-chainhook-sequence']!) ?? new Set();
    ids.set(headers['x-chainhook-sequence']!, earlier.add(headers['webhook-id']!));
  }
  expect([...ids.values()].every(({ size }) => size === 1)).toBe(true);
  const page = await log(server, uuid);
  const errors = page.results.flatMap(({ last_attempt }: never) => [(last_attempt as { error: string | null }).error]);
  expect(errors.every((error: unknown) => error === null)).toBe(true);
  const first = await server.request('GET', `/chainhooks/me/${uuid}/deliveries/${page.results.at(-1).id}`);
  const attempts: { status_code: number | null; error: string | null }[] = first.body.attempts;
  const outcomes = attempts.map((attempt) => attempt.status_code ?? attempt.error);
  expect(outcomes[0]).toBeOneOf([204, 205]);
  expect([302, 500, 'no answer within 0.3 s']).toEqual(expect.arrayContaining([...new Set(outcomes.slice(1))]));
  expect(outcomes.length).toBeGreaterThan(2);
});

test('a receiver that resets or refuses connections, or never answers, delays no other receiver', async () => {
  await using server = await hookServer({}, undefined, { deliveryRules: { concurrency: 4 } });
  using good = receiver();
  using hanging = receiver();
  using reset = resettingServer();
  hanging.answer = () => new Promise(() => {});
  const bad = await server.register(reset.url);
  const refused = await server.register(NOWHERE);
  const mute = await server.register(hanging.url);
  const fine = await server.register(good.url);
  server.feed(events);
  await server.untilDrained(fine);
  expect(sequences(good.received)).toEqual(upTo(good.received.length));
  await until(async () => (await server.status(bad)).consecutive_failures > 1);
  await until(async () => (await server.status(refused)).consecutive_failures > 1);
  expect(await server.status(mute)).toMatchObject({ status: 'streaming', enabled: true, last_delivery_at: null });
  const [, , head] = (await log(server, mute)).results.slice(-3);
  expect([head.state, head.sequence]).toEqual(['in_flight', 1]);
  const [oldest] = (await log(server, bad, '&state=failed')).results;
  const last = { status_code: null, error: expect.stringContaining('ECONNRESET') };
  expect(oldest).toMatchObject({ sequence: 1, last_attempt: last });
});

test('when the retry budget ends, the hook is interrupted, keeps its queue, and continues without a gap once enabled', async () => {
  await using server = await hookServer({ hookBudget: 0 });
  using target = receiver();
  using good = receiver();
  target.answer = ({ headers }) => new Response('no', { status: headers['x-chainhook-sequence'] === '3' ? 503 : 200 });
  const uuid = await server.register(target.url);
  const other = await server.register(good.url);
  const half = Math.floor(events.length / 2);
  server.feed(events.slice(0, half));
  await until(async () => (await server.status(uuid)).status === 'interrupted');
  server.feed(events.slice(half));
  const interrupted = await server.status(uuid);
  expect(interrupted).toMatchObject({ enabled: false, last_delivery_status_code: 503 });
  expect(interrupted.interrupted_reason).toMatch(/^delivery evt_\w+ to 127\.0\.0\.1:\d+ failed once: status 503$/);
  expect(interrupted.lag_blocks).toBeGreaterThan(0);
  expect(server.logged.filter(({ event }) => event === 'hook_interrupted')).toHaveLength(1);
  const [dead] = (await log(server, uuid, '&state=dead')).results;
  expect(dead).toMatchObject({ sequence: 3, state: 'dead' });
  // When another hook has all of its deliveries, everything else was also sent.
  await server.untilDrained(other);
  expect(sequences(target.received).at(-1)).toBe(3);

  target.answer = () => new Response('yes');
  await server.setEnabled(uuid, true);
  await until(async () => (await server.status(uuid)).lag_blocks === 0);
  await server.untilDrained(uuid);
  const { sequence } = server.hooks.store.records.find(uuid, 'default')!;
  expect(sequences(target.received)).toEqual([1, 2, 3, ...upTo(sequence).slice(2)]);
  const heights = appliedHeights(target.received);
  expect(new Set(heights).size).toBe(sequence);
  expect(Math.max(...heights)).toBe(BLOCKS);
  const healthy = { status: 'streaming', enabled: true, interrupted_reason: null, consecutive_failures: 0 };
  expect(await server.status(uuid)).toMatchObject(healthy);
});

test('410 interrupts the hook at once, and a blocking delivery can be skipped', async () => {
  await using server = await hookServer();
  using target = receiver();
  target.answer = () => new Response('', { status: 410 });
  const uuid = await server.register(target.url);
  server.feed(events);
  await until(async () => (await server.status(uuid)).status === 'interrupted');
  expect(target.received).toHaveLength(1);
  const path = `/chainhooks/me/${uuid}/deliveries`;
  const results = (await log(server, uuid)).results;
  // The delivery that interrupted the hook is dead, and waits with the others until the hook is enabled.
  const waiting = async () => {
    const { pending_deliveries: count, oldest_pending_at: oldest } = await server.status(uuid);
    return [count, oldest];
  };
  expect(results.at(-1).state).toBe('dead');
  expect(await waiting()).toEqual([results.length, results.at(-1).created_at]);
  const last = results[0];
  expect((await server.request('POST', `${path}/${last.id}/skip`)).status).toBe(409);
  expect((await server.request('POST', `${path}/${results.at(-1).id}/skip`)).status).toBe(204);
  expect((await waiting())[0]).toBe(results.length - 1);
  target.answer = () => new Response('');
  await server.setEnabled(uuid, true);
  await server.untilDrained(uuid);
  expect(sequences(target.received).slice(0, 2)).toEqual([1, 2]);
  expect((await server.request('GET', `${path}/${results.at(-1).id}`)).body.state).toBe('dead');
});

test('a failing hook shows the reason, the start, the delivery and its next retry until it succeeds', async () => {
  await using server = await hookServer();
  using target = receiver();
  using good = receiver();
  target.answer = () =>
    new Response('database is locked\nat line 3', { status: 503, headers: { 'retry-after': '300' } });
  const uuid = await server.register(target.url);
  const other = await server.register(good.url);
  const well = { failing_delivery: null, last_error: null, last_failed_at: null, next_attempt_at: null };
  expect(await server.status(uuid)).toMatchObject(well);
  server.feed(events);
  await until(async () => (await server.status(uuid)).last_error !== null);
  const failing = await server.status(uuid);
  const [delivery] = (await log(server, uuid, '&state=failed')).results;
  expect(failing).toMatchObject({
    failing_delivery: delivery.id,
    last_error: 'status 503: database is locked',
    next_attempt_at: delivery.next_attempt_at,
    consecutive_failures: 1,
  });
  expect(failing.next_attempt_at - failing.last_failed_at).toBeGreaterThan(200);
  await server.setEnabled(uuid, false);
  expect(await server.status(uuid)).toMatchObject({ failing_delivery: delivery.id, next_attempt_at: null });
  await server.setEnabled(uuid, true);
  const listIds = async (query: string) =>
    (await server.request('GET', `/chainhooks/me?${query}`)).body.results.map((hook: { uuid: string }) => hook.uuid);
  expect(await listIds('failing=true')).toEqual([uuid]);
  expect((await listIds('')).toSorted()).toEqual([uuid, other].toSorted());
  const consumers = async () => (await server.request('GET', '/chainhooks/consumers')).body.results;
  expect(await consumers()).toEqual([{ consumer: 'default', hooks: 2, failing: 1 }]);
  const [headings, first, problem, second] = (await listHooks(server)).replaceAll(/ +/g, ' ').split('\n');
  expect(headings).toBe('ID STATE WAITING NAME');
  expect(problem).toMatch(/^ failed \S+Z: status 503: database is locked; next attempt \S+Z$/);
  expect(first).toMatch(new RegExp(`^${uuid} streaming, failing \\d+ `));
  expect(second).toMatch(new RegExp(`^${other} streaming \\d+ `));
  // Nobody waits for a hook that its consumer paused.
  await server.setEnabled(uuid, false);
  expect([await listIds('failing=true'), (await consumers())[0].failing]).toEqual([[], 0]);
  await server.setEnabled(uuid, true);
  target.answer = () => new Response('');
  const repeated = await server.request('POST', `/chainhooks/me/${uuid}/deliveries/${delivery.id}/redeliver`);
  expect([repeated.status, repeated.body.state]).toEqual([202, 'failed']);
  await server.untilDrained(uuid);
  expect(await server.status(uuid)).toMatchObject({ ...well, consecutive_failures: 0 });
  expect(await listIds('failing=true')).toEqual([]);
});

test('a hook whose backfill waits for a retry stays failing while live deliveries succeed', async () => {
  await using server = await hookServer();
  using target = receiver();
  const isBackfill = ({ headers }: Received) => headers['x-chainhook-reason'] === 'backfill';
  target.answer = (request) =>
    isBackfill(request)
      ? new Response('no space', { status: 503, headers: { 'retry-after': '300' } })
      : new Response(null, { status: 204 });
  const uuid = await server.register(target.url);
  const half = events.findIndex(({ path, text }) => path === '/new_block' && JSON.parse(text).block_height === 10);
  server.feed(events.slice(0, half));
  await server.untilDrained(uuid);
  await server.request('POST', `/chainhooks/me/${uuid}/backfills`, { from_height: 2, to_height: 5 });
  await until(async () => {
    const { pending_deliveries: pending, consecutive_failures: failures } = await server.status(uuid);
    return pending === 3 && failures === 1;
  });
  server.feed(events.slice(half));
  await until(async () => {
    const { pending_deliveries: pending, last_delivery_status_code: code } = await server.status(uuid);
    return pending === 3 && code === 204;
  });

  const [delivery] = (await log(server, uuid, '&state=failed')).results;
  const { failing_delivery: id, last_error: error, ...after } = await server.status(uuid);
  expect([id, error, after.next_attempt_at]).toEqual([delivery.id, 'status 503: no space', delivery.next_attempt_at]);
  expect([delivery.reason, after.consecutive_failures]).toEqual(['backfill', 0]);
  const failingState = async () => {
    const { results, total } = (await server.request('GET', '/chainhooks/me?failing=true')).body;
    const [consumer] = (await server.request('GET', '/chainhooks/consumers')).body.results;
    return [results.map((hook: { uuid: string }) => hook.uuid), total, consumer.failing];
  };
  expect(await failingState()).toEqual([[uuid], 1, 1]);
  expect(await listHooks(server)).toMatch(
    / streaming, failing +3 {2}test\n {4}failed \S+: status 503: no space; next attempt /,
  );

  // A disabled hook still sends its backfills.
  await server.setEnabled(uuid, false);
  expect(await failingState()).toEqual([[uuid], 1, 1]);
  expect(await listHooks(server)).toMatch(/ streaming, disabled, failing +3 {2}test\n/);

  target.answer = () => new Response('ok');
  await server.request('POST', `/chainhooks/me/${uuid}/deliveries/${delivery.id}/redeliver`);
  await server.untilDrained(uuid);
  expect(await failingState()).toEqual([[], 0, 0]);
  expect(await server.status(uuid)).toMatchObject({ failing_delivery: null, last_error: null });
});

test('a disabled hook keeps its queue and sends nothing', async () => {
  await using server = await hookServer();
  using target = receiver();
  using good = receiver();
  target.answer = () => new Response('', { status: 500 });
  const uuid = await server.register(target.url);
  const other = await server.register(good.url);
  server.feed(events);
  await server.setEnabled(uuid, false);
  target.answer = () => new Response('');
  const waiting = (await server.status(uuid)).pending_deliveries;
  expect(waiting).toBeGreaterThan(10);
  await server.untilDrained(other);
  expect((await server.status(uuid)).pending_deliveries).toBeGreaterThanOrEqual(waiting - 1);
  await server.setEnabled(uuid, true);
  await server.untilDrained(uuid);
});

test('Retry-After is parsed as seconds or a date, up to an hour', () => {
  const now = Date.parse('2026-11-21T15:00:00Z');
  expect(retryAfter('90', now)).toBe(90_000);
  expect(retryAfter('Sat, 21 Nov 2026 15:01:00 GMT', now)).toBe(60_000);
  expect(retryAfter('999999', now)).toBe(3_600_000);
  expect([retryAfter(undefined, now), retryAfter('soon', now)]).toEqual([null, null]);
});

test('the wait doubles from two seconds to the cap, plus or minus a fifth', () => {
  const mean = () => 0.5;
  expect([1, 2, 3, 9, 99].map((attempts) => retryWait(attempts, 300_000, mean))).toEqual([
    2_000, 4_000, 8_000, 300_000, 300_000,
  ]);
  expect([retryWait(1, 300_000, () => 0), retryWait(1, 300_000, () => 0.999999)]).toEqual([1_600, 2_400]);
});

test('deliveries are listed by state, reason and height, and can be walked in both directions', async () => {
  await using server = await hookServer();
  using target = receiver();
  const uuid = await server.register(target.url);
  server.feed(events);
  await server.untilDrained(uuid);
  const all = (await log(server, uuid)).results;
  const path = `/chainhooks/me/${uuid}/deliveries`;
  const walked: unknown[] = [];
  let page = (await server.request('GET', `${path}?limit=7`)).body;
  expect(page).toMatchObject({ total: all.length, limit: 7, cursor: { previous: null } });
  for (;;) {
    walked.push(...page.results);
    if (page.cursor.next === null) break;
    const next = (await server.request('GET', `${path}?limit=7&cursor=${page.cursor.next}`)).body;
    const back = (await server.request('GET', `${path}?limit=7&cursor=${next.cursor.previous}`)).body;
    expect(back.results).toEqual(page.results);
    page = next;
  }
  expect(walked).toEqual(all);
  expect((await log(server, uuid, '&state=pending,dead')).total).toBe(0);
  expect((await log(server, uuid, '&state=delivered&reason=live')).total).toBe(all.length);
  const few = (await log(server, uuid, '&from_height=5&to_height=7')).results;
  const heights = few.flatMap(({ apply }: { apply: { height: number }[] }) => apply.map(({ height }) => height));
  expect(heights).toEqual([7, 6, 5]);
  const details = (await server.request('GET', `${path}/${few[0].id}`)).body;
  const sent = target.received.find(({ headers }) => headers['webhook-id'] === few[0].id)!;
  expect(details.payload).toEqual(sent.payload);
  const digest = new Bun.CryptoHasher('sha256').update(sent.text).digest('hex');
  expect(details).toMatchObject({ body_bytes: sent.text.length, body_sha256: digest });
  expect((await server.request('GET', `${path}?state=lost`)).body).toMatchObject({ error: 'Invalid query parameter' });
  expect((await server.request('GET', `${path}/evt_0`)).status).toBe(404);
  expect((await server.request('GET', `${path}?cursor=abc`)).status).toBe(400);

  const before = target.received.length;
  const repeated = await server.request('POST', `${path}/${few[1].id}/redeliver`);
  const { id, sequence } = few[1];
  expect(repeated).toMatchObject({ status: 202, body: { id, sequence, reason: 'redelivery' } });
  const chosen = { state: ['delivered'], from_height: 5, to_height: 7 };
  const many = await server.request('POST', `${path}/redeliver`, chosen);
  expect([many.status, many.body.queued >= 2]).toEqual([202, true]);
  await server.untilDrained(uuid);
  const resent = target.received.slice(before);
  for (const { headers, text } of resent) {
    expect(headers['x-chainhook-reason']).toBe('redelivery');
    expect(headers['x-chainhook-sequence']).toBeUndefined();
    expect(
      target.received.some((first) => first.headers['webhook-id'] === headers['webhook-id'] && first.text === text),
    ).toBe(true);
  }
  const { commands } = server.hooks;
  await commands.run('upkeep.aged_bodies', { after: { createdAt: 0, id: 0 }, before: LAST, limit: 1_000 });
  expect((await server.request('POST', `${path}/${few[0].id}/redeliver`)).status).toBe(410);
  expect((await server.request('GET', `${path}/${few[0].id}`)).body.payload).toBeNull();
  await commands.run('upkeep.rows', { before: LAST, limit: 1_000 });
  expect((await log(server, uuid)).total).toBe(0);
});

test('a test delivery contains the newest matching block', async () => {
  await using server = await hookServer();
  using target = receiver();
  const uuid = await server.register(target.url, {});
  server.feed(events);
  const { body } = await server.request('POST', `/chainhooks/me/${uuid}/test`);
  expect(body).toMatchObject({ ok: true, status_code: 200, error: null, response_excerpt: 'ok' });
  expect(body.payload.event.apply[0].block_identifier.index).toBe(BLOCKS);
  expect(target.received[0]?.payload).toEqual(body.payload);
  expect(target.received[0]?.headers['x-chainhook-reason']).toBe('test');
  target.answer = () => new Response('broken', { status: 500 });
  const failed = await server.request('POST', `/chainhooks/me/${uuid}/test`, { block_height: 3 });
  expect(failed.body).toMatchObject({ ok: false, status_code: 500, error: 'status 500', response_excerpt: 'broken' });
  expect((await server.status(uuid)).consecutive_failures).toBe(0);
  expect((await log(server, uuid)).total).toBe(0);
  expect((await server.request('POST', `/chainhooks/me/${uuid}/test`, { block_height: 99 })).status).toBe(404);
});

test("a payload that can't be built interrupts only that hook, before the block", async () => {
  await using server = await hookServer();
  using target = receiver();
  using other = receiver();
  const broken = await server.register(target.url, { ...started, decode_clarity_values: true });
  const fine = await server.register(other.url);
  const { candidates } = server.tables;
  const { contractInterface } = candidates;
  candidates.contractInterface = () => {
    throw new Error('a fault of ours');
  };
  server.feed(events);
  const interrupted = await server.status(broken);
  expect(interrupted).toMatchObject({ status: 'interrupted', enabled: false });
  expect(interrupted.interrupted_reason).toStartWith('a payload could not be made');
  const [dead] = (await log(server, broken, '&state=dead')).results;
  expect(dead).toMatchObject({ body_bytes: 0, problem: expect.any(String) });
  expect(await server.status(fine)).toMatchObject({ status: 'streaming', evaluated_block_count: BLOCKS });
  candidates.contractInterface = contractInterface;
  await server.setEnabled(broken, true);
  await until(async () => (await server.status(broken)).lag_blocks === 0);
  await server.untilDrained(broken);
  await server.untilDrained(fine);
  expect(appliedHeights(target.received)).toEqual(appliedHeights(other.received));
});

describe("the operator's alert for an ended hook", () => {
  /** Time of everything in this test, in Unix milliseconds. */
  const now = Date.parse('2027-01-15T08:00:00Z');
  const alerting = async (answer: () => Response | Promise<Response>) => {
    const operator = receiver();
    operator.answer = answer;
    const server = await hookServer({ hookAlert: `${operator.url}?token=1` }, undefined, {
      clock: { ...systemClock, now: () => now },
    });
    return {
      server,
      operator,
      async [Symbol.asyncDispose]() {
        await server[Symbol.asyncDispose]();
        operator[Symbol.dispose]();
      },
    };
  };

  test('is sent once for each hook, signed, and without the secret', async () => {
    await using run = await alerting(() => new Response(''));
    const { server, operator } = run;
    using target = receiver();
    target.answer = () => new Response('', { status: 410 });
    const { secret } = (await server.request('POST', '/chainhooks/me/secret')).body;
    const below = await server.register(target.url);
    const short = await server.register(target.url, { ...started, expire_after_evaluations: 2 });
    const off = await server.register(target.url);
    await server.setEnabled(off, false);
    server.feed(events);
    await until(async () => (await server.status(below)).status === 'interrupted');
    // The alerts of two hooks are sent in separate requests, in any order.
    for (const uuid of [below, short]) {
      await until(() => operator.received.some(({ payload }) => payload.uuid === uuid), 'the alert');
    }
    const alertsOf = (type: string, uuid: string) =>
      operator.received.filter(({ payload }) => payload.type === type && payload.uuid === uuid);
    expect(alertsOf('chainhook.expired', short)).toHaveLength(1);
    const [alert, ...more] = alertsOf('chainhook.interrupted', below) as [Received];
    expect(more).toEqual([]);
    const { interrupted_reason: reason } = await server.status(below);
    const about = { type: 'chainhook.interrupted', uuid: below, consumer: 'default', name: 'test' };
    expect(alert.payload).toEqual({ ...about, reason, at: now / 1_000 });
    expect(alert.headers['webhook-signature']).toBe(signatureOf(secret, alert));
    expect(alert.headers['user-agent']).toMatch(/^stackside\/\d/);
    for (const name of ['authorization', 'x-chainhook-consumer-secret']) expect(alert.headers[name]).toBeUndefined();
    expect(operator.received.filter(({ payload }) => payload.uuid === off)).toEqual([]);
  });

  test('is also sent to the URL for alerts of the hook, even while the operator does not answer', async () => {
    await using run = await alerting(() => new Promise<Response>(() => {}));
    const { server } = run;
    using target = receiver();
    using owner = receiver();
    const { secret } = (await server.request('POST', '/chainhooks/me/secret')).body;
    const options = { ...started, expire_after_evaluations: 1 };
    const plain = await server.register(target.url, options);
    const watched = await server.register(target.url, { ...options, alert_url: owner.url });
    const ends = { expire_after_evaluations: null, expire_after_occurrences: 2 };
    const later = await server.register(target.url, { ...options, ...ends, alert_url: owner.url });
    server.feed(events);
    await until(() => owner.received.length === 2, 'the alerts');
    expect(owner.received.map(({ payload: { type, uuid, reason } }) => [type, uuid, reason])).toEqual([
      ['chainhook.expired', watched, 'it reached expire_after_evaluations (1)'],
      ['chainhook.expired', later, 'it reached expire_after_occurrences (2)'],
    ]);
    const [first] = owner.received as [Received];
    expect(first.headers['webhook-signature']).toBe(signatureOf(secret, first));
    expect((await server.status(plain)).status).toBe('expired');
  });

  test('is tried at most three times, while deliveries continue', async () => {
    await using run = await alerting(() => new Response('', { status: 500 }));
    const { server, operator } = run;
    using target = receiver();
    const short = await server.register(target.url, { ...started, expire_after_evaluations: 1 });
    const other = await server.register(target.url);
    server.feed(events);
    await server.untilDrained(other);
    const failed = () => server.logged.filter(({ event }) => event === 'hook_alert_failed');
    await until(() => failed().length === 1);
    const host = new URL(operator.url).host;
    expect(failed()).toEqual([{ event: 'hook_alert_failed', uuid: short, host, reason: 'status 500' }]);
    expect(operator.received).toHaveLength(3);
    expect(new Set(operator.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  });

  test('is not sent to an address that deliveries may not use', async () => {
    await using server = await hookServer({ hookAlert: 'https://192.168.0.1/' });
    using target = receiver();
    await server.register(target.url, { ...started, expire_after_evaluations: 1 });
    server.feed(events);
    const failed = () => server.logged.find(({ event }) => event === 'hook_alert_failed');
    await until(() => failed() !== undefined);
    expect(failed()).toMatchObject({ host: '192.168.0.1', reason: expect.stringContaining('not allowed') });
  });

  test("doesn't delay a stop of the server", async () => {
    const operator = receiver();
    operator.answer = () => new Promise(() => {});
    await using server = await hookServer({ hookAlert: operator.url });
    using target = receiver();
    await server.register(target.url, { ...started, expire_after_evaluations: 1 });
    server.feed(events);
    await until(() => operator.received.length === 1);
    await server.stop();
    operator[Symbol.dispose]();
    expect(server.logged.filter(({ event }) => event === 'hook_alert_failed')).toEqual([]);
  });
});

test('the metrics count deliveries, retries and failures', async () => {
  let seconds = 0;
  // Time passes with each look at it.
  const monotonic = () => ++seconds * 1_000;
  await using server = await hookServer({}, undefined, { clock: { ...systemClock, monotonic } });
  using target = receiver();
  let failures = 3;
  target.answer = () => new Response('', { status: failures-- > 0 ? 500 : 200 });
  const uuid = await server.register(target.url);
  server.feed(events);
  await server.untilDrained(uuid);
  const { occurrence_count: matches } = await server.status(uuid);
  const evaluated = { evaluatedBlocks: BLOCKS, matches, rollbacks: 0, interrupted: 0 };
  expect(server.hooks.counters()).toEqual({ ...evaluated, delivered: matches, failed: 3, blockedTargets: 0 });
  const hooks = [{ status: 'streaming', enabled: true, count: 1 }];
  expect(server.hooks.gauges()).toEqual({ pending: 0, oldestPendingSeconds: 0, hooks });
  const metrics = await server.registry.metrics();
  const figure = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)?.[1]);
  expect(figure('chainhooks_evaluation_seconds_count')).toBe(BLOCKS);
  expect(figure('chainhooks_evaluation_seconds_sum')).toBeGreaterThan(0);
  expect(figure('chainhooks_delivery_seconds_count')).toBe(matches + 3);
  expect(figure('chainhooks_delivery_seconds_sum')).toBe(matches + 3);
});
