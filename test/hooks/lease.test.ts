/** Hooks of a host that gains and loses the lease: it starts and stops the work that only one host does at a time. */
import { expect, test } from 'bun:test';
import { StoreUnavailableError } from '../../src/base/system-errors.ts';
import type { Lease, LeasedWork } from '../../src/cluster/lease-keeper.ts';
import { LogUnavailableError } from '../../src/cluster/shared-log.ts';
import type { DeliveryResult, DeliveryResults } from '../../src/hooks/commands/deliveries.ts';
import { resultWriter } from '../../src/hooks/delivery/results.ts';
import type { Answer, SendOptions } from '../../src/http/outgoing.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';
import { CONSUMER, directHooks } from './direct.ts';
import { definition, everything, NOWHERE, started, straightChain } from './server.ts';

const BLOCKS = 4;
/** Milliseconds between two runs of the retention. */
const UPKEEP_MS = 60_000;
const events = straightChain(BLOCKS, 1);
const mined = events.flatMap(({ path }, index) => (path === '/new_block' ? [index] : []));
/** The events up to the block of a height. */
const upTo = (height: number) => events.slice(0, mined[height]! + 1);

/** A lease that the test grants and withdraws. */
function givenLease() {
  let work: LeasedWork | null = null;
  let isHeld = false;
  const lose = async () => {
    isHeld = false;
    await work?.stop();
  };
  const lease: Lease = {
    start: (job) => {
      work = job;
    },
    hasLease: () => isHeld,
    stop: lose,
  };
  return {
    lease,
    gain(epoch: number): void {
      isHeld = true;
      work?.start(epoch);
    },
    lose,
    isLost: () => !isHeld,
    /** Ends the lease. This host learns of the end at its next request. */
    end(): void {
      lease.hasLease = () => {
        if (isHeld) void lose();
        return false;
      };
    },
  };
}

/** A network with requests that wait for the test's answers. */
function heldPost() {
  const requests: { headers: Record<string, string>; signal: AbortSignal; answer: (status?: number) => void }[] = [];
  return {
    requests,
    send: ({ headers, signal }: SendOptions): Promise<Answer> =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('ended')));
        const whole = { headers: {}, body: Buffer.alloc(0) };
        requests.push({ headers, signal, answer: (status = 200) => resolve({ status, ...whole }) });
      }),
    ids: () => requests.map(({ headers }) => headers['webhook-id']),
  };
}

test('a host sends nothing without the lease, everything in order with it, and unfinished deliveries again after losing it', async () => {
  const { lease, gain, lose } = givenLease();
  const { requests, send, ids } = heldPost();
  await using direct = directHooks({ lease, send });
  const uuid = await direct.register(definition(NOWHERE, everything, started));
  direct.feed(upTo(2));
  const madeIds = () => direct.deliveries(uuid).map(({ webhookId }) => webhookId);
  expect(madeIds().length).toBeGreaterThan(1);
  expect(requests).toHaveLength(0);

  gain(1);
  await until(() => requests.length === 1);
  requests[0]!.answer();
  await until(() => requests.length === 2);
  await lose();
  expect([requests[1]!.signal.aborted, direct.hooks.dispatcher.underWay()]).toEqual([true, []]);
  // Deliveries that are queued in between wait until the lease is gained again.
  direct.feed(events.slice(upTo(2).length));
  gain(2);
  for (let request = 2; request <= madeIds().length; request++) {
    await until(() => requests.length === request + 1);
    requests[request]!.answer();
  }
  await until(() => direct.deliveries(uuid).every(({ state }) => state === 'delivered'));
  const [first, second, ...others] = madeIds();
  expect(ids()).toEqual([first, second, second, ...others]);
  expect(requests[2]!.headers['x-chainhook-attempt']).toBe('1');
});

test('a host with an expired lease sends nothing, even before it is notified', async () => {
  const { lease, gain, end, isLost } = givenLease();
  const { requests, send } = heldPost();
  await using direct = directHooks({ lease, send });
  await direct.register(definition(NOWHERE, everything, started));
  gain(1);
  direct.feed(upTo(1));
  await until(() => requests.length === 1);
  end();
  requests[0]!.answer();
  direct.feed(events.slice(upTo(1).length));
  await until(isLost);
  await direct.stop();
  expect(requests).toHaveLength(1);
});

test('any host sends test deliveries', async () => {
  const { lease } = givenLease();
  const { requests, send } = heldPost();
  await using direct = directHooks({ lease, send });
  direct.feed(events);
  const uuid = await direct.register(definition(NOWHERE, everything));
  const tested = direct.trial.test(CONSUMER, uuid, {});
  await until(() => requests.length === 1);
  requests[0]!.answer(204);
  expect(await tested).toMatchObject({ ok: true, status_code: 204 });
});

test('backfills and upkeep run once each, on the host with the lease', async () => {
  const { lease, gain, lose } = givenLease();
  const clock = heldClock([UPKEEP_MS]);
  await using direct = directHooks({ lease, after: clock.after });
  const uuid = await direct.register(definition(NOWHERE, everything));
  direct.feed(events);
  const job = await direct.trial.backfill(CONSUMER, uuid, { from_height: 1, to_height: BLOCKS, dry_run: true });
  const isDone = () => direct.trial.getBackfill(CONSUMER, uuid, job.id).state === 'completed';
  gain(1);
  await lose();
  expect(clock.waiting(UPKEEP_MS)).toBe(0);
  gain(2);
  await until(isDone);
  expect(clock.waiting(UPKEEP_MS)).toBe(1);
});

test('only the host with the lease alerts the operator of ended hooks', async () => {
  const { lease, gain, lose } = givenLease();
  const { requests, send } = heldPost();
  await using direct = directHooks({ lease, send, rules: { alertUrl: 'https://127.0.0.1:9/alerts' } });
  const limited = { ...started, expire_after_evaluations: 1 };
  const alerts = () => requests.filter(({ headers }) => headers['x-chainhook-uuid'] === undefined);
  const expire = async (height: number) => {
    const uuid = await direct.register(definition(NOWHERE, everything, limited));
    direct.feed(events.slice(upTo(height - 1).length, upTo(height).length));
    expect(direct.record(uuid).status).toBe('expired');
  };
  direct.feed(upTo(0));
  await expire(1);
  gain(1);
  await expire(2);
  await until(() => alerts().length === 1);
  await lose();
  await expire(3);
  gain(2);
  await expire(4);
  await until(() => alerts().length === 2);
});

const loss = (delivery: number): DeliveryResult => ({
  delivery,
  webhookId: `evt_${delivery}`,
  attempts: 0,
  outcome: 'lost',
});

/** A writer of results whose writes wait until the test lets each of them succeed or fail. @param lengths held waits */
function heldWriter(lengths: readonly number[] = [], areMoreComing = () => false) {
  const clock = heldClock(lengths);
  const writes: { results: number[]; epoch: number; done: () => void; fail: (error: Error) => void }[] = [];
  const write = ({ epoch, marks: results }: DeliveryResults): Promise<boolean[]> =>
    new Promise((resolve, reject) => {
      const done = () => resolve(results.map(({ delivery }) => delivery % 2 === 0));
      writes.push({ epoch, results: results.map(({ delivery }) => delivery), done, fail: reject });
    });
  return { writes, writer: resultWriter({ write, areMoreComing, clock }), clock };
}

test("results that arrive during a write are written together, in order and with the lease's epoch", async () => {
  const { writes, writer } = heldWriter();
  writer.start(7);
  const counts = [1, 2, 3].map((delivery) => writer.write(loss(delivery)));
  expect(writes.map((write) => write.results)).toEqual([[1]]);
  writes[0]!.done();
  await until(() => writes.length === 2);
  expect(writes[1]).toMatchObject({ results: [2, 3], epoch: 7 });
  writes[1]!.done();
  expect(await Promise.all(counts)).toEqual([false, true, false]);
});

test('during requests, results are written after 20 ms or in batches of 200, and a stop writes the rest', async () => {
  let areMoreComing = true;
  const { writes, writer, clock } = heldWriter([20], () => areMoreComing);
  const many = (first: number, count: number) =>
    Array.from({ length: count }, (_, index) => writer.write(loss(first + index)));
  const lengths = () => writes.map((write) => write.results.length);
  writer.start(1);
  many(0, 3);
  expect(writes).toHaveLength(0);
  clock.pass(20);
  expect(lengths()).toEqual([3]);
  // Results that arrive during the write wait until the others are written.
  many(3, 2);
  writes[0]!.done();
  await until(() => clock.waiting(20) === 1);
  many(5, 197);
  expect([clock.waiting(20), lengths()]).toEqual([1, [3]]);
  many(202, 2);
  expect([clock.waiting(20), lengths()]).toEqual([0, [3, 200]]);
  writes[1]!.done();
  await until(() => clock.waiting(20) === 1);
  areMoreComing = false;
  const [only] = many(204, 1);
  expect([clock.waiting(20), lengths()]).toEqual([0, [3, 200, 2]]);
  writes[2]!.done();
  await only;

  areMoreComing = true;
  const last = many(206, 4);
  const stopped = writer.stop();
  await until(() => writes.length === 4);
  expect(lengths()).toEqual([3, 200, 2, 4]);
  writes[3]!.done();
  expect(await Promise.all(last)).toEqual([true, false, true, false]);
  await stopped;
  expect(clock.waiting(20)).toBe(0);
  // Nobody waits for results after the stop.
  const late = many(210, 1);
  writes[4]!.done();
  expect(await Promise.all(late)).toEqual([true]);
});

test('results that the log rejects are retried, and nothing waits for them once the lease ends', async () => {
  const { writes, writer, clock } = heldWriter([500]);
  writer.start(1);
  const away = new LogUnavailableError('the log is away');
  const first = writer.write(loss(2));
  writes[0]!.fail(away);
  await until(() => clock.waiting(500) === 1);
  const second = writer.write(loss(4));
  clock.pass(500);
  await until(() => writes.length === 2);
  expect(writes[1]!.results).toEqual([2, 4]);
  writes[1]!.fail(away);
  await until(() => clock.waiting(500) === 1);
  const stopped = writer.stop();
  await until(() => writes.length === 3);
  writes[2]!.fail(away);
  expect(await Promise.all([first, second, stopped])).toEqual([false, false, undefined]);
  expect(clock.waiting(500)).toBe(0);

  writer.start(2);
  const third = writer.write(loss(6));
  expect(writes[3]).toMatchObject({ results: [6], epoch: 2 });
  // With the new lease, results are written again as with the one before.
  writes[3]!.fail(away);
  await until(() => clock.waiting(500) === 1);
  clock.pass(500);
  await until(() => writes.length === 5);
  writes[4]!.done();
  expect(await third).toBe(true);
});

test("a result that can't be written delays no other, and a disk error is returned at once", async () => {
  const { writes, writer } = heldWriter();
  writer.start(1);
  const outcomes = [2, 4, 6].map((delivery) => writer.write(loss(delivery)).catch(({ message }: Error) => message));
  writes[0]!.done();
  await until(() => writes.length === 2);
  writes[1]!.fail(new Error('one of them'));
  await until(() => writes.length === 3);
  expect(writes[2]!.results).toEqual([4]);
  writes[2]!.fail(new Error('this one'));
  await until(() => writes.length === 4);
  writes[3]!.done();
  expect(await Promise.all(outcomes)).toEqual([true, 'this one', true]);
  await writer.stop();

  writer.start(2);
  const refused = [2, 4, 6].map((delivery) => writer.write(loss(delivery)).catch(({ message }: Error) => message));
  writes[4]!.done();
  await until(() => writes.length === 6);
  writes[5]!.fail(new StoreUnavailableError('full', null));
  expect(await Promise.all(refused)).toEqual([true, 'disk is full', 'disk is full']);
});

test('results that are written one by one are retried together if the log is away in between', async () => {
  const { writes, writer, clock } = heldWriter([500]);
  writer.start(1);
  const outcomes = [2, 4, 6].map((delivery) => writer.write(loss(delivery)).catch(({ message }: Error) => message));
  const [several, away] = [new Error('one of them'), new LogUnavailableError('the log is away')];
  const steps: (Error | null)[] = [null, several, away, several, null, new Error('this one')];
  for (const [index, error] of steps.entries()) {
    await until(() => writes.length > index);
    if (error === null) writes[index]!.done();
    else writes[index]!.fail(error);
    if (!(error instanceof LogUnavailableError)) continue;
    await until(() => clock.waiting(500) === 1);
    clock.pass(500);
  }
  expect(await Promise.all(outcomes)).toEqual([true, true, 'this one']);
  expect(writes.map(({ results }) => results)).toEqual([[2], [4, 6], [4], [4, 6], [4], [6]]);
});
