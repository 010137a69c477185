/** The order of all writes. */
import { expect, test } from 'bun:test';
import { WriterQueue } from '../../src/store/ingest/writer-queue.ts';

test('without waiting jobs, a job is done when its call returns', () => {
  const queue = new WriterQueue();
  const done: number[] = [];
  void queue.run(() => done.push(1));
  void queue.run(() => done.push(2));
  expect(done).toEqual([1, 2]);
});

test('jobs that arrive during another one follow it in order, even if some fail', async () => {
  const queue = new WriterQueue();
  const done: string[] = [];
  const first = Promise.withResolvers<string>();
  const results = [
    queue.run(() => first.promise),
    queue.run(() => done.push('second')),
    queue.run(() => {
      done.push('third');
      throw new Error('the third fails');
    }),
    queue.run(async () => {
      await Promise.resolve();
      done.push('fourth');
      return Promise.reject(new Error('the fourth fails'));
    }),
    queue.run(() => done.push('fifth')),
  ];
  const outcomes = Promise.allSettled(results);
  expect(done).toEqual([]);
  first.resolve('first');
  expect(
    (await outcomes).map((result) => (result.status === 'fulfilled' ? result.value : result.reason.message)),
  ).toEqual(['first', 1, 'the third fails', 'the fourth fails', 4]);
  expect(done).toEqual(['second', 'third', 'fourth', 'fifth']);
  // The queue is idle again, so the job runs at once.
  void queue.run(() => done.push('sixth'));
  expect(done.at(-1)).toBe('sixth');
});
