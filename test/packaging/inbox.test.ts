/** Waits for deliveries in a test of the npm package, without a chain. */
import { expect, test } from 'bun:test';
import { DevnetError } from '../../src/testing/errors.ts';
import { Inbox } from '../../src/testing/inbox.ts';

test('a failure ends the waits of all chainhooks, and every later wait immediately', async () => {
  const inbox = new Inbox();
  const failure = new DevnetError('wrong_signature', 'The signature is wrong.');
  const waits = Promise.allSettled([inbox.next('one', 60_000), inbox.next(null, 60_000)]);
  inbox.fail(failure);
  inbox.fail(new DevnetError('ended', 'Only the first failure counts.'));
  expect(await waits).toEqual([
    { status: 'rejected', reason: failure },
    { status: 'rejected', reason: failure },
  ]);
  await expect(inbox.next('one', 0)).rejects.toBe(failure);
});

test('an answer that a receiver can not give is refused at once, with its field', () => {
  const inbox = new Inbox();
  const wrong: [answer: object, field: string, message: string][] = [
    [
      { status: 99, times: 1 },
      'status',
      "The receiver can't give this answer: status must be a whole number from 200 to 599.",
    ],
    [{ status: 1000 }, 'status', expect.any(String)],
    [{ status: '500' }, 'status', expect.any(String)],
    [{ delayMs: -1 }, 'delayMs', expect.stringContaining('delayMs must be a whole number of milliseconds.')],
    [{ times: 0 }, 'times', expect.any(String)],
    [{ hangs: 1 }, 'hangs', expect.any(String)],
    [{ stats: 500 }, 'stats', expect.stringContaining('stats must be one of status, delayMs, hangs, times.')],
    [{ toString: 500 }, 'toString', expect.any(String)],
  ];
  for (const [answer, field, message] of wrong) {
    let error: unknown = null;
    try {
      inbox.answer(answer);
    } catch (cause) {
      error = cause;
    }
    expect([error instanceof DevnetError, error]).toMatchObject([true, { problem: 'refused', field, message }]);
  }
  for (const answer of [{}, { status: 200, delayMs: 0 }, { hangs: true, times: Number.POSITIVE_INFINITY }])
    inbox.answer(answer);
});
