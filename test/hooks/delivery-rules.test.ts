/** Rules of deliveries with any answers and any commands in between, with the test's own clock. */

import { describe, expect, test } from 'bun:test';
import net from 'node:net';
import { systemClock } from '../../src/base/clock.ts';
import { ANSWER_MS, attempt } from '../../src/hooks/delivery/attempt.ts';
import { serializedDelivery } from '../../src/hooks/routes/schemas.ts';
import { send, targetGuard } from '../../src/http/outgoing.ts';
import { dataDirectory } from '../support/data/data-directory.ts';
import { received } from '../support/data/ingest.ts';
import { eventsOf } from '../support/events/forked-chain.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';
import { CONSUMER, type DirectHooks, directHooks, loopback } from './direct.ts';
import { followed } from './follow.ts';
import { definition, everything, NOWHERE, type Received, receiver, started, straightChain } from './server.ts';

const DAY = 24 * 3_600_000;
const mined = { mine: 'back' as const, tenure: 'same' as const, transactions: 4 };
const grow = { ...mined, blocks: 0 };

const straight = straightChain(8, 4);
/** Three blocks, then a rival of the second block with two more blocks, which wins. */
const forked = eventsOf({
  seed: 3,
  steps: [grow, grow, grow, { ...mined, blocks: 2 }, { ...mined, mine: 'overtake', end: 1 }],
}).map(received);
/** The number of events up to the block of a height. */
const upTo = (events: typeof straight, height: number): number =>
  1 + events.findIndex(({ path, text }) => path === '/new_block' && JSON.parse(text).block_height === height);
/** The events up to the block that leaves the chain. */
const third = upTo(forked, 3);
const bodies = ({ hooks }: DirectHooks, list: readonly { id: number }[]) =>
  list.map(({ id }) => JSON.parse(hooks.store.deliveries.body(id) ?? 'null'));

/** A receiver that answers a request when the test calls `answer`. */
function holdingTarget() {
  const target = receiver();
  const pending: ((response: Response) => void)[] = [];
  let inHand = 0;
  let peak = 0;
  target.answer = async () => {
    inHand += 1;
    peak = Math.max(peak, inHand);
    const response = await new Promise<Response>((resolve) => pending.push(resolve));
    inHand -= 1;
    return response;
  };
  return {
    url: target.url,
    received: target.received,
    waiting: () => pending.length,
    most: () => peak,
    /** Answers the oldest request. */
    answer: (status = 200) => pending.shift()?.(new Response('', { status })),
    [Symbol.dispose]: () => target[Symbol.dispose](),
  };
}

describe('Retry-After', () => {
  const waits = async (status: number, retryAfter: string): Promise<number> => {
    await using direct = directHooks();
    using target = receiver();
    target.answer = () => new Response('', { status, headers: { 'retry-after': retryAfter } });
    const uuid = await direct.register(definition(target.url, everything, started));
    direct.feed(straight.slice(0, upTo(straight, 1)));
    await until(() => direct.deliveries(uuid)[0]?.state === 'failed');
    return (direct.deliveries(uuid)[0]?.nextAttemptAt ?? 0) - direct.clock.time;
  };
  const backoff = [1_600, 2_400] as const;
  const between = (wait: number, [min, max]: readonly [number, number]) => wait >= min && wait <= max;

  test.each([429, 502, 503, 504])('of %d delays the retry, but never shortens the backoff', async (status) => {
    expect(await waits(status, '120')).toBe(120_000);
    const wait = await waits(status, '0');
    expect([wait, between(wait, backoff)]).toEqual([wait, true]);
  });

  test.each([500, 404, 301])('of %d is ignored', async (status) => {
    const wait = await waits(status, '120');
    expect([wait, between(wait, backoff)]).toEqual([wait, true]);
  });

  test('beyond an hour counts as an hour', async () => {
    expect(await waits(503, '86400')).toBe(3_600_000);
  });
});

describe('a clock that is set back', () => {
  const MINUTE = 60_000;
  /** Hooks whose retries wait until the test continues. The receiver rejects the first request. */
  const withRetries = (directory: string, time: number, target: ReturnType<typeof receiver>) => {
    const waits: { ms: number; end: () => void }[] = [];
    const after: typeof systemClock.after = (ms, call) => {
      if ((ms < 1_600 || ms > 2_400) && ms < 5 * MINUTE) return systemClock.after(ms, call);
      waits.push({ ms, end: call });
      return () => {};
    };
    const direct = directHooks({ directory, clock: { time }, after });
    target.answer = () => new Response('', { status: target.received.length === 1 ? 500 : 200 });
    return { direct, waits };
  };

  test.each([10 * MINUTE, 60 * MINUTE, 90 * 24 * 60 * MINUTE])('by %d ms delays no waiting retry', async (back) => {
    using directory = dataDirectory();
    using target = receiver();
    const { direct, waits } = withRetries(directory.path, 1_800_000_000_000, target);
    await using _ = direct;
    const uuid = await direct.register(definition(target.url, everything, started));
    direct.feed(straight.slice(0, upTo(straight, 1)));
    await until(() => waits.length === 1);
    direct.clock.time -= back;
    waits[0]!.end();
    await until(() => direct.states(uuid)[0] === 'delivered' || waits.length > 1);
    expect(waits).toHaveLength(1);
  });

  test('between two starts delays a retry by at most an hour', async () => {
    using directory = dataDirectory();
    using target = receiver();
    const first = withRetries(directory.path, 1_800_000_000_000, target);
    const uuid = await first.direct.register(definition(target.url, everything, started));
    first.direct.feed(straight.slice(0, upTo(straight, 1)));
    await until(() => first.waits.length === 1);
    await first.direct.stop();
    const { direct, waits } = withRetries(directory.path, 1_700_000_000_000, target);
    await using _ = direct;
    await until(() => waits.length === 1);
    expect(waits[0]!.ms).toBe(60 * MINUTE);
    waits[0]!.end();
    await until(() => direct.states(uuid)[0] === 'delivered' || waits.length > 1);
    expect(waits).toHaveLength(1);
  });
});

test('a replaced secret signs along with the new one for exactly a day', async () => {
  await using direct = directHooks();
  using target = receiver();
  direct.feed(straight);
  const uuid = await direct.register(definition(target.url, everything));
  const signatures = async () => {
    await direct.trial.test(CONSUMER, uuid, {});
    return target.received.at(-1)?.headers['webhook-signature']?.split(' ').length;
  };
  await direct.managed.rotateSecret(CONSUMER);
  expect(await signatures()).toBe(1);
  await direct.managed.rotateSecret(CONSUMER);
  expect(await signatures()).toBe(2);
  direct.clock.time += DAY - 1;
  expect(await signatures()).toBe(2);
  direct.clock.time += 1;
  expect(await signatures()).toBe(1);
});

describe('during a request', () => {
  const backfill = async (direct: DirectHooks, url: string) => {
    const uuid = await direct.register(definition(url, everything));
    direct.feed(straight);
    const job = await direct.trial.backfill(CONSUMER, uuid, { from_height: 1, to_height: 3, dry_run: false });
    const state = () => direct.trial.getBackfill(CONSUMER, uuid, job.id);
    await until(() => state().state === 'completed');
    return { uuid, job, state };
  };

  test.each([200, 500])('a cancelled delivery stays cancelled even if the answer is %d', async (status) => {
    await using direct = directHooks();
    using target = holdingTarget();
    const { uuid, job, state } = await backfill(direct, target.url);
    await until(() => target.waiting() === 1);
    await direct.trial.cancelBackfill(CONSUMER, uuid, job.id);
    const cancelled = direct.deliveries(uuid).map(() => 'cancelled');
    expect(direct.states(uuid)).toEqual(cancelled as never);
    target.answer(status);
    await until(() => !direct.hooks.dispatcher.underWay().includes(direct.deliveries(uuid)[0]!.id));
    expect(direct.states(uuid)).toEqual(cancelled as never);
    expect(state()).toMatchObject({ state: 'cancelled', deliveries: { queued: 3, delivered: 0, dead: 0 } });
    expect(target.received).toHaveLength(1);
  });

  test('a result for a deleted hook is not written', async () => {
    await using direct = directHooks();
    using target = holdingTarget();
    const uuid = await direct.register(definition(target.url, everything, started));
    direct.feed(straight);
    const [first] = direct.deliveries(uuid);
    await until(() => target.waiting() === 1);
    await direct.managed.remove(CONSUMER, uuid);
    target.answer(500);
    await until(() => !direct.hooks.dispatcher.underWay().includes(first!.id));
    expect(direct.hooks.store.deliveries.get(first!.id)).toMatchObject({ state: 'cancelled', attempts: 0 });
  });

  test('a redelivery and a skip are rejected, and nothing is sent twice', async () => {
    await using direct = directHooks();
    using target = holdingTarget();
    const uuid = await direct.register(definition(target.url, everything, started));
    direct.feed(straight.slice(0, upTo(straight, 1)));
    await until(() => target.waiting() === 1);
    target.answer(500);
    await until(() => direct.deliveries(uuid)[0]?.state === 'failed');
    direct.clock.time += 10_000;
    direct.wake(uuid);
    await until(() => target.waiting() === 1);
    // Only its row shows a failed delivery that can be sent again.
    const [row] = direct.deliveries(uuid);
    expect(row?.state).toBe('failed');
    await expect(direct.log.redeliver(CONSUMER, uuid, row!.webhookId)).rejects.toThrow('The delivery is in flight');
    expect(await direct.log.redeliverMany(CONSUMER, uuid, {})).toBe(0);
    const onlyFirst = 'only the first waiting delivery of a queue can be skipped';
    await expect(direct.log.skip(CONSUMER, uuid, row!.webhookId)).rejects.toThrow(onlyFirst);
    target.answer(200);
    await until(() => direct.deliveries(uuid)[0]?.state === 'delivered');
    expect(target.received).toHaveLength(2);
  });

  test('a stop waits for the request, which counts as neither a success nor a failure', async () => {
    await using direct = directHooks();
    using target = holdingTarget();
    const uuid = await direct.register(definition(target.url, everything, started));
    direct.feed(straight);
    await until(() => target.waiting() === 1);
    const [first] = direct.deliveries(uuid);
    expect(direct.hooks.dispatcher.underWay().includes(first!.id)).toBe(true);
    await direct.hooks.stop();
    expect(direct.hooks.dispatcher.underWay().includes(first!.id)).toBe(false);
    expect(direct.deliveries(uuid)[0]).toMatchObject({ state: 'pending', attempts: 0 });
    expect(target.received).toHaveLength(1);
  });
});

test('a backfill continues after a dead delivery, and its hook stays enabled', async () => {
  await using direct = directHooks();
  using target = receiver();
  let answered = 0;
  target.answer = () => new Response('', { status: answered++ === 1 ? 410 : 200 });
  const uuid = await direct.register(definition(target.url, everything, started));
  const job = () => direct.trial.getBackfill(CONSUMER, uuid, id);
  await direct.managed.update(CONSUMER, uuid, { filters: { events: [] } });
  direct.feed(straight);
  await direct.managed.update(CONSUMER, uuid, { filters: { events: everything } });
  const { id } = await direct.trial.backfill(CONSUMER, uuid, { from_height: 1, to_height: 8, dry_run: false });
  await until(() => job().deliveries.delivered + job().deliveries.dead === 8);
  expect(job()).toMatchObject({ state: 'completed', deliveries: { queued: 8, delivered: 7, dead: 1 } });
  expect(direct.record(uuid)).toMatchObject({ stage: 'live', status: 'streaming', interruptedReason: null });
  expect(direct.logged.filter(({ event }) => event === 'hook_interrupted')).toEqual([]);
  // Redeliveries don't change the counts, whatever their outcome.
  for (const status of [200, 410]) {
    target.answer = () => new Response('', { status });
    const tries = direct.deliveries(uuid).reduce((sum, { attempts }) => sum + attempts, 0);
    expect(await direct.log.redeliverMany(CONSUMER, uuid, { states: ['dead', 'delivered'] })).toBe(8);
    await until(() => direct.deliveries(uuid).reduce((sum, { attempts }) => sum + attempts, 0) === tries + 8);
    expect(job().deliveries).toEqual({ queued: 8, delivered: 7, dead: 1 });
  }
});

test('a failing backfill or redelivery can be skipped, which sends the next delivery of its queue', async () => {
  await using direct = directHooks();
  using target = receiver();
  const uuid = await direct.register(definition(target.url, everything));
  direct.feed(straight);
  const job = () => direct.trial.getBackfill(CONSUMER, uuid, id);
  const firstOfQueue = () => direct.deliveries(uuid).find(({ state }) => state === 'failed');
  target.answer = () => new Response('', { status: target.received.length === 1 ? 500 : 200 });
  const { id } = await direct.trial.backfill(CONSUMER, uuid, { from_height: 1, to_height: 3, dry_run: false });
  await until(() => firstOfQueue() !== undefined && job().state === 'completed');
  const [first, second] = direct.deliveries(uuid);
  await expect(direct.log.skip(CONSUMER, uuid, second!.webhookId)).rejects.toThrow('blocks no other delivery');
  await direct.log.skip(CONSUMER, uuid, first!.webhookId);
  await until(() => direct.states(uuid).join() === 'dead,delivered,delivered');
  expect(job().deliveries).toEqual({ queued: 3, delivered: 2, dead: 1 });

  target.answer = () => new Response('', { status: target.received.length === 4 ? 500 : 200 });
  await direct.log.redeliverMany(CONSUMER, uuid, { states: ['delivered'] });
  await until(() => firstOfQueue() !== undefined);
  await direct.log.skip(CONSUMER, uuid, second!.webhookId);
  await until(() => direct.states(uuid).join() === 'dead,dead,delivered');
  expect(job().deliveries).toEqual({ queued: 3, delivered: 2, dead: 1 });
  // No delivery waits, so that there is nothing to cancel.
  await direct.trial.cancelBackfill(CONSUMER, uuid, id);
  expect(job().state).toBe('completed');
});

test('a block that a backfill delivered is rolled back if it is orphaned', async () => {
  await using direct = directHooks();
  const uuid = await direct.register(definition(NOWHERE, everything));
  direct.feed(forked.slice(0, third));
  await direct.managed.setEnabled(CONSUMER, uuid, true);
  const job = await direct.trial.backfill(CONSUMER, uuid, { from_height: 1, to_height: 3, dry_run: false });
  await until(() => direct.trial.getBackfill(CONSUMER, uuid, job.id).state === 'completed');
  const hashes = [2, 3].map((height) => `0x${direct.ingest.history.hashAt(height)?.toHex()}`);
  direct.feed(forked.slice(third));
  const deliveries = direct.deliveries(uuid);
  const live = deliveries.filter(({ queue }) => queue === 'live');
  expect(live[0]?.blocks.rollback.map((block) => block.index_block_hash)).toEqual(hashes.toReversed());
  followed(bodies(direct, deliveries));
});

test('after catching up over a fork, sequence numbers and ids continue without a gap', async () => {
  await using direct = directHooks();
  const uuid = await direct.register(definition(NOWHERE, everything, started));
  direct.feed(forked.slice(0, third));
  const before = direct.deliveries(uuid).map(({ webhookId }) => webhookId);
  expect(before).toHaveLength(3);
  await direct.interrupt(uuid);
  direct.feed(forked.slice(third));
  await direct.managed.setEnabled(CONSUMER, uuid, true);
  await until(() => direct.record(uuid).stage === 'live');
  const after = direct.deliveries(uuid);
  expect(after.slice(0, 3).map(({ webhookId }) => webhookId)).toEqual(before);
  const [rollback, ...rest] = after.slice(3);
  expect(rollback?.blocks.rollback.map(({ height }) => height)).toEqual([3, 2]);
  expect(rollback?.blocks.apply.map(({ height }) => height)).toEqual([2, 3, 4]);
  expect(after.map(({ sequence }) => sequence)).toEqual(after.map((_, index) => index + 1));
  expect(after.slice(3).every(({ reason }) => reason === 'catch_up')).toBe(true);
  expect(new Set(after.map(({ webhookId }) => webhookId)).size).toBe(after.length);
  expect([direct.record(uuid).sequence, rest.length]).toEqual([after.length, after.length - 4]);
  followed(bodies(direct, after));
});

test('the number of concurrent requests never exceeds the limit', async () => {
  await using direct = directHooks({ rules: { concurrency: 3 } });
  using target = holdingTarget();
  const uuids: string[] = [];
  for (let hook = 0; hook < 7; hook++) uuids.push(await direct.register(definition(target.url, everything, started)));
  direct.feed(straight.slice(0, upTo(straight, 2)));
  const total = uuids.length * 2;
  for (let answered = 0; answered < total; answered++) {
    const inHand = Math.min(3, total - answered);
    await until(() => target.waiting() >= inHand);
    target.answer();
  }
  await until(() => uuids.every((uuid) => direct.states(uuid).every((state) => state === 'delivered')));
  expect([target.received.length, target.most()]).toEqual([total, 3]);
});

test('receivers that hang during retries leave room for first attempts', async () => {
  await using direct = directHooks({ rules: { concurrency: 4 } });
  using hanging = holdingTarget();
  using healthy = receiver();
  const bad: string[] = [];
  for (let hook = 0; hook < 5; hook++) bad.push(await direct.register(definition(hanging.url, everything, started)));
  const firstBlock = upTo(straight, 1);
  direct.feed(straight.slice(0, firstBlock));
  for (let answered = 0; answered < 5; answered++) {
    await until(() => hanging.waiting() > 0);
    hanging.answer(500);
  }
  await until(() => bad.every((uuid) => direct.states(uuid)[0] === 'failed'));
  direct.clock.time += 10_000;
  for (const uuid of bad) direct.wake(uuid);
  await until(() => hanging.waiting() === 3);
  const good = await direct.register(definition(healthy.url, everything, started));
  direct.feed(straight.slice(firstBlock));
  await until(() => direct.deliveries(good).length > 0 && direct.states(good).every((state) => state === 'delivered'));
  expect(hanging.waiting()).toBe(3);
  // The waiting deliveries are sent once there is room.
  await until(() => {
    hanging.answer(200);
    return bad.every((uuid) => direct.states(uuid)[0] === 'delivered');
  });
  expect(hanging.most()).toBeLessThanOrEqual(4);
});

test('a hook that catches up queues only a few deliveries, and more as the receiver accepts them', async () => {
  await using direct = directHooks();
  using target = holdingTarget();
  const uuid = await direct.register(definition(target.url, everything));
  direct.feed(straight);
  const { deliveries } = direct.tables;
  const { openUpTo } = deliveries;
  deliveries.openUpTo = (id, queue, limit) => (openUpTo(id, queue, limit) < 3 ? 0 : limit);
  await direct.managed.setEnabled(CONSUMER, uuid, true, 1);
  for (let answered = 1; answered <= 8; answered++) {
    await until(() => target.waiting() === 1);
    await until(() => direct.deliveries(uuid).length === Math.min(answered + 2, 8));
    target.answer();
  }
  await until(() => direct.record(uuid).stage === 'live');
  await until(() => direct.states(uuid).every((state) => state === 'delivered'));
  const heights = direct.deliveries(uuid).flatMap(({ blocks }) => blocks.apply.map(({ height }) => height));
  expect(heights).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

test('a host that left its cluster delivers even if another host wrote results before', async () => {
  using directory = dataDirectory();
  using target = receiver();
  {
    await using earlier = directHooks({ directory: directory.path });
    await earlier.register(definition(target.url, everything, started));
    earlier.tables.records.setEpoch(7);
  }
  await using alone = directHooks({ directory: directory.path });
  alone.feed(straight.slice(0, upTo(straight, 2)));
  await until(() => alone.hooks.store.deliveries.waitingOfAll().count === 0, 'the end of the queue');
  expect(target.received).toHaveLength(2);
});

test('a delivery without its body interrupts its hook with a reason', async () => {
  await using direct = directHooks();
  using target = holdingTarget();
  const uuid = await direct.register(definition(target.url, everything, started));
  direct.feed(straight.slice(0, upTo(straight, 2)));
  await until(() => target.waiting() === 1);
  const [, lost] = direct.deliveries(uuid);
  const { deliveries } = direct.hooks.store;
  const { body } = deliveries;
  deliveries.body = (id) => (id === lost?.id ? undefined : body(id));
  target.answer();
  await until(() => direct.record(uuid).status === 'interrupted');
  expect(direct.record(uuid).interruptedReason).toBe(`the body of delivery ${lost?.webhookId} is lost`);
  expect(direct.states(uuid)).toEqual(['delivered', 'dead']);
});

describe('an answer', () => {
  const guard = targetGuard({ allowed: loopback, plainHttp: false });
  /** Sends the text to every client that sends something, and leaves the connection open. */
  async function serveText(text: string, more?: (socket: net.Socket) => void) {
    const sockets = new Set<net.Socket>();
    const server = net.createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.once('data', () => {
        socket.write(text);
        more?.(socket);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as net.AddressInfo;
    return {
      url: `http://127.0.0.1:${port}/`,
      [Symbol.dispose]() {
        for (const socket of sockets) socket.destroy();
        server.close();
      },
    };
  }
  const clock = heldClock([ANSWER_MS]);
  const sendTo = (url: string, timeoutMs = 60_000, signal = new AbortController().signal) => {
    const request = { url, headers: {}, body: Buffer.from('{}'), timeoutMs, connectTimeoutMs: 60_000, signal };
    return attempt(request, { guard, clock, send });
  };

  test('counts by its status, even if its body never ends', async () => {
    const sentUntilLate = async (url: string) => {
      const sending = sendTo(url);
      await until(() => clock.waiting(ANSWER_MS) === 1, 'the status');
      clock.pass(ANSWER_MS);
      return sending;
    };
    using target = await serveText('HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\nthanks');
    expect(await sentUntilLate(target.url)).toMatchObject({ statusCode: 200, error: null, excerpt: 'thanks' });
    using broken = await serveText('HTTP/1.1 503 Busy\r\nretry-after: 7\r\ncontent-length: 10\r\n\r\n');
    expect(await sentUntilLate(broken.url)).toMatchObject({ statusCode: 503, error: null, retryAfterMs: 7_000 });
  });

  /** Sends for as long as the other side takes it. */
  const endlessly = (part: string) => (socket: net.Socket) => {
    const go = () => {
      while (!socket.destroyed && socket.write(part));
      if (!socket.destroyed) socket.once('drain', go);
    };
    go();
  };
  const ok = 'HTTP/1.1 200 OK\r\n';

  const failed = (error: string) => ({ statusCode: null, error: expect.stringContaining(error) });
  const continues = 'HTTP/1.1 100 Continue\r\n\r\n';
  const hints = 'HTTP/1.1 103 Early\r\nlink: </x>\r\n\r\n';
  const short = `${ok}content-length: 2\r\n\r\nok`;
  const upgrade = 'HTTP/1.1 101 Over\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n';
  const chunk = `${ok}transfer-encoding: chunked\r\n\r\nffffffffffff\r\n`;
  const long = endlessly('z'.repeat(65_536));
  const cut = { statusCode: 200, excerpt: 'z'.repeat(1024) };

  // Each ends by itself: the time that the attempt has is a minute.
  test.each<[what: string, text: string, more: ((socket: net.Socket) => void) | undefined, expected: object]>([
    ['that takes the connection over', upgrade, undefined, { statusCode: 101 }],
    ['after one before it', `${continues}${short}`, undefined, { statusCode: 200, excerpt: 'ok' }],
    ['before which others never end', '', endlessly(continues.repeat(100)), failed('interim answers')],
    ['with hints that never end', '', endlessly(hints.repeat(100)), failed('interim answers')],
    ['whose headers never end', ok, endlessly('x: y\r\n'.repeat(1000)), failed('HPE_HEADER_OVERFLOW')],
    ['whose header never ends', `${ok}x: `, endlessly('y'.repeat(65_536)), failed('HPE_HEADER_OVERFLOW')],
    ['whose body is sent without end', `${ok}\r\n`, long, cut],
    ['whose chunk never ends', chunk, long, cut],
    ['that is none', '\0\u0001 garbage', undefined, failed('HPE_')],
    ['that does not come', '', (socket) => socket.resetAndDestroy(), failed('ECONNRESET')],
    ['that is over before it began', '', (socket) => socket.end(), failed('socket hang up')],
  ])('%s', async (_what, text, more, expected) => {
    using target = await serveText(text, more);
    expect(await sendTo(target.url)).toMatchObject(expected);
  });

  test("that arrives byte by byte is cut off at the end of the attempt's time", async () => {
    using target = await serveText('H');
    expect(await sendTo(target.url, 50)).toMatchObject({ statusCode: null, error: 'no answer within 0.05 s' });
  });

  test('is not requested after the process stops', async () => {
    using target = await serveText('');
    const sent = await sendTo(target.url, 60_000, AbortSignal.abort());
    expect(sent).toMatchObject({ statusCode: null, error: 'the attempt was ended' });
  });
});

test('a delivery is no longer in flight once its result is stored, even before its request ends', async () => {
  await using direct = directHooks();
  const uuid = await direct.register(definition(NOWHERE, everything, started));
  direct.feed(straight.slice(0, upTo(straight, 1)));
  const delivery = direct.deliveries(uuid)[0]!;
  const states = (['pending', 'failed', 'delivered', 'dead', 'cancelled'] as const).map(
    (state) => serializedDelivery({ ...delivery, state }, { lastAttempt: undefined, underWay: true }).state,
  );
  expect(states).toEqual(['in_flight', 'in_flight', 'delivered', 'dead', 'cancelled']);
});

const reasonOf = ({ headers }: Received) => headers['x-chainhook-reason'];
const hashesOf = (blocks: { block_identifier: { hash: string } }[]) =>
  blocks.map(({ block_identifier }) => block_identifier.hash);

/** A hook that is live from the tip of three blocks on. */
async function liveAtThree(direct: DirectHooks, ...urls: string[]): Promise<string[]> {
  const uuids: string[] = [];
  for (const url of urls) uuids.push(await direct.register(definition(url, everything)));
  direct.feed(forked.slice(0, third));
  for (const uuid of uuids) await direct.managed.setEnabled(CONSUMER, uuid, true);
  return uuids;
}

test("a backfill's pending deliveries of an orphaned block are cancelled, and the backfill ends", async () => {
  await using direct = directHooks();
  using target = receiver();
  const [uuid = ''] = await liveAtThree(direct, target.url);
  // At most two deliveries wait, so that the backfill continues only if there is room.
  const { deliveries } = direct.tables;
  const { openOfBackfill } = deliveries;
  deliveries.openOfBackfill = (id) => (openOfBackfill(id) < 2 ? 0 : 1_000);
  target.answer = () => new Response('', { status: 503 });
  const { id } = await direct.trial.backfill(CONSUMER, uuid, { from_height: 2, to_height: 3, dry_run: false });
  const job = () => direct.trial.getBackfill(CONSUMER, uuid, id);
  await until(() => direct.deliveries(uuid).length === 2 && direct.deliveries(uuid)[0]?.state === 'failed');
  expect(job().state).toBe('running');

  const accepted: Received[] = [];
  target.answer = (request) => {
    accepted.push(request);
    return new Response('');
  };
  direct.feed(forked.slice(third));
  await until(() => accepted.some(({ payload }) => payload.event.rollback.length === 2));
  direct.clock.time += 10_000;
  direct.hooks.dispatcher.wake(direct.record(uuid).id, 'backfill');
  await until(() => direct.states(uuid).every((state) => state === 'delivered' || state === 'cancelled'));
  expect(accepted.map(reasonOf)).not.toContain('backfill');
  expect(direct.states(uuid)).toEqual(['cancelled', 'cancelled', 'delivered']);
  await until(() => job().state === 'completed');
  expect(job().deliveries).toEqual({ queued: 2, delivered: 0, dead: 2 });
});

test.each([200, 500])(
  "a rollback waits for the backfill's running request with that block, answered %d",
  async (status) => {
    await using direct = directHooks();
    using target = receiver();
    using other = receiver();
    const [uuid = ''] = await liveAtThree(direct, target.url, other.url);
    const requested = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<Response>();
    target.answer = (request) => {
      if (reasonOf(request) !== 'backfill') return new Response('');
      requested.resolve();
      return answer.promise;
    };
    await direct.trial.backfill(CONSUMER, uuid, { from_height: 3, to_height: 3, dry_run: false });
    await requested.promise;

    direct.feed(forked.slice(third));
    // The other hook's queue comes after the queue of the waiting request.
    await until(() => other.received.length === 1);
    const [applied, rollback] = direct.deliveries(uuid);
    expect([applied?.state, rollback?.state, rollback?.attempts]).toEqual(['cancelled', 'pending', 0]);
    expect(direct.hooks.dispatcher.underWay().includes(rollback!.id)).toBe(false);
    answer.resolve(new Response('', { status }));
    await until(() => direct.deliveries(uuid)[1]?.state === 'delivered');
    expect(direct.deliveries(uuid)[0]).toMatchObject({ state: 'cancelled', attempts: 0 });
    expect(target.received.map(reasonOf)).toEqual(['backfill', 'live']);
    const [apply, correction] = target.received.map(({ payload }) => payload.event);
    expect(hashesOf(correction.rollback)).toContain(hashesOf(apply.apply)[0] as string);
  },
);

test('a redelivery of a backfill is also cancelled, and counted once', async () => {
  await using direct = directHooks();
  using target = receiver();
  const [uuid = ''] = await liveAtThree(direct, target.url);
  target.answer = () => new Response('', { status: 410 });
  const { id } = await direct.trial.backfill(CONSUMER, uuid, { from_height: 3, to_height: 3, dry_run: false });
  await until(() => direct.deliveries(uuid)[0]?.state === 'dead');
  target.answer = () => new Response('', { status: 503 });
  await direct.log.redeliver(CONSUMER, uuid, direct.deliveries(uuid)[0]!.webhookId);
  await until(() => direct.deliveries(uuid)[0]?.state === 'failed');
  direct.feed(forked.slice(third));
  expect(direct.deliveries(uuid)[0]?.state).toBe('cancelled');
  expect(direct.trial.getBackfill(CONSUMER, uuid, id).deliveries).toEqual({ queued: 1, delivered: 0, dead: 1 });
});

test('a hook that was disabled during a reorg gets the rollback once it is enabled', async () => {
  await using direct = directHooks();
  using target = receiver();
  const uuid = await direct.register(definition(target.url, everything, started));
  direct.feed(forked.slice(0, third));
  await until(() => direct.states(uuid).every((state) => state === 'delivered'));
  const applied = target.received.flatMap(({ payload }) => hashesOf(payload.event.apply));
  await direct.managed.setEnabled(CONSUMER, uuid, false);
  const count = target.received.length;
  direct.feed(forked.slice(third));
  expect(direct.deliveries(uuid)).toHaveLength(count);
  await direct.managed.setEnabled(CONSUMER, uuid, true);
  await until(() => direct.states(uuid).every((state) => state === 'delivered'));
  const { event } = target.received.at(-1)!.payload;
  // Blocks 3 and 2, the highest first; their replacements are skipped.
  expect([hashesOf(event.rollback), event.apply]).toEqual([applied.slice(-2).reverse(), []]);
});
