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
