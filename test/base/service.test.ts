/** Services stop in order. Loops wait between turns, report each failure once, and end when stopped. */
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError, TransientError } from '../../src/base/errors.ts';
import { backoff, Services, startLoop, withRetries } from '../../src/base/service.ts';
import { canMount, smallDisk } from '../support/data/small-disk.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';

class Away extends TransientError {}

const EVERY = 1_000;
const WAITS = { firstMs: 2_000, maxMs: 5_000, random: () => 0.5 };

/** A loop that runs the given functions as its turns. */
function looping(turns: (() => number | null | undefined)[], firstMs = EVERY) {
  const clock = heldClock([EVERY, 2_000, 4_000, 5_000, 7_000]);
  const reports: string[] = [];
  let count = 0;
  const loop = startLoop({
    clock,
    everyMs: EVERY,
    firstMs,
    waits: WAITS,
    async turn() {
      return (turns[count++] ?? (() => undefined))() as number;
    },
    failed: (error) => reports.push(`failed: ${error.message}`),
    recovered: (failures) => reports.push(`recovered after ${failures}`),
  });
  return {
    clock,
    reports,
    loop,
    count: () => count,
    /** Ends a wait, once the loop waits that long. */
    async pass(milliseconds: number): Promise<void> {
      await until(() => clock.waiting(milliseconds) === 1, `a wait of ${milliseconds} ms`);
      clock.pass(milliseconds);
    },
  };
}

const fail = (error: Error) => () => {
  throw error;
};

test('services stop in reverse order, even if one fails, and the error names it', async () => {
  const stopped: string[] = [];
  const services = new Services();
  for (const name of ['first', 'second', 'third']) {
    const service = {
      async stop() {
        stopped.push(name);
        if (name === 'second') throw new Error('it hangs');
      },
    };
    expect(services.use(name, service)).toBe(service);
  }
  expect(services.use('none', null)).toBeNull();
  await expect(services.stop()).rejects.toMatchObject({
    message: 'The service "second" failed to stop.',
    cause: new Error('it hangs'),
  });
  expect(stopped).toEqual(['third', 'second', 'first']);
  await services.stop();
  expect(stopped).toHaveLength(3);
});

test('the wait doubles after each failure, up to the maximum', () => {
  expect([1, 2, 3, 10, 5_000].map((failures) => backoff(failures, WAITS))).toEqual([2_000, 4_000, 5_000, 5_000, 5_000]);
});

test('a wait is up to a fifth shorter or longer, at random', () => {
  expect([0, 0.5, 1].map((part) => backoff(9, { ...WAITS, random: () => part }))).toEqual([4_000, 5_000, 6_000]);
});

test('an attempt is repeated after each wait, until its result is final', async () => {
  const waits: number[] = [];
  const clock = {
    after(milliseconds: number, call: () => void) {
      waits.push(milliseconds);
      queueMicrotask(call);
      return () => {};
    },
  };
  let count = 0;
  const attempt = async () => ++count;
  expect(await withRetries(clock, attempt, (result, attempts) => (result < 3 ? 100 * attempts : null))).toBe(3);
  expect(waits).toEqual([100, 200]);
  expect(await withRetries(clock, attempt, () => null)).toBe(4);
});

test('a loop waits before each turn as long as the last turn requested', async () => {
  const { pass, loop, count } = looping([() => undefined, () => 7_000, () => 0, () => null]);
  expect(count()).toBe(0);
  for (const wait of [EVERY, EVERY, 7_000]) await pass(wait);
  await until(() => count() === 4);
  loop.wake();
  await until(() => count() === 5);
  await loop.stop();
});

test('a failure is retried after growing waits, and each message and its end are reported once', async () => {
  const [away, other] = [new Away('nobody answers'), new OperatorError('The disk is full.', 'Make room.')];
  const { pass, reports, loop, count } = looping([fail(away), fail(away), fail(away), fail(other), () => undefined]);
  await pass(EVERY);
  await pass(2_000);
  expect([reports, loop.failure()]).toEqual([['failed: nobody answers'], 'nobody answers']);
  for (const wait of [4_000, 5_000, 5_000]) await pass(wait);
  await until(() => count() === 5);
  await until(() => loop.failure() === null);
  expect(reports).toEqual(['failed: nobody answers', 'failed: The disk is full.', 'recovered after 4']);
  await loop.stop();
});

/** Adds 100 kB to a database. */
function addToDatabase(directory: string): void {
  using db = new Database(join(directory, 'db'));
  db.run('CREATE TABLE IF NOT EXISTS added (bytes BLOB)');
  db.run('INSERT INTO added VALUES (zeroblob(100000))');
}

test.skipIf(!canMount).each([
  ['writes a file', (directory: string) => appendFileSync(join(directory, 'file'), Buffer.alloc(100_000))],
  ['writes to a database', addToDatabase],
])('on a full disk, a loop that %s retries, and reports the failure and its end once', async (_, write) => {
  using disk = smallDisk(1_000_000)!;
  write(disk.path);
  disk.fill();
  const { pass, reports, loop, count } = looping(Array(5).fill(() => write(disk.path)));
  for (const wait of [EVERY, 2_000, 4_000]) await pass(wait);
  await until(() => count() === 3);
  expect(reports).toEqual([expect.stringMatching(/^failed: .*(no space left|disk is full)/)]);
  disk.empty();
  for (const wait of [5_000, EVERY]) await pass(wait);
  await until(() => count() === 5);
  await loop.stop();
  expect(reports.slice(1)).toEqual(['recovered after 3']);
});

test('a woken loop starts its turn after the caller, and another turn if woken during a turn', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let turns = 0;
  const loop = startLoop({
    clock: heldClock([EVERY]),
    everyMs: EVERY,
    turn: async () => {
      turns += 1;
      if (turns === 1) await promise;
      return null;
    },
  });
  loop.wake();
  expect(turns).toBe(0);
  await until(() => turns === 1);
  loop.wake();
  loop.wake();
  resolve();
  await until(() => turns === 2);
  await loop.stop();
  expect(turns).toBe(2);
});

test('a stop ends a wait at once, waits for a running turn, and hides errors caused by the stop', async () => {
  const waiting = looping([]);
  await waiting.loop.stop();
  expect([waiting.count(), waiting.clock.waiting(EVERY)]).toEqual([0, 0]);
  const reports: string[] = [];
  const steps: string[] = [];
  const loop = startLoop({
    clock: heldClock([EVERY]),
    everyMs: EVERY,
    firstMs: 0,
    async turn(signal) {
      steps.push('begun');
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      steps.push('over');
      signal.throwIfAborted();
    },
    failed: (error) => reports.push(error.message),
  });
  await until(() => steps.length === 1);
  await loop.stop();
  expect([steps, reports]).toEqual([['begun', 'over'], []]);
});

test('an unexpected error ends the loop, even during a stop', async () => {
  const bug = new TypeError('a bug');
  const { promise, reject } = Promise.withResolvers<void>();
  let turns = 0;
  const loop = startLoop({
    clock: heldClock([EVERY]),
    everyMs: EVERY,
    firstMs: 0,
    turn() {
      turns += 1;
      return promise;
    },
  });
  await until(() => turns === 1);
  const stopped = loop.stop();
  reject(bug);
  await expect(stopped).rejects.toBe(bug);
});
