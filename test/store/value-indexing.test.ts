/** The task that builds value indexes while the node's events arrive. */
import { expect, test } from 'bun:test';
import { StoreUnavailableError } from '../../src/base/system-errors.ts';
import type { LocalWrite } from '../../src/store/ingest/commands.ts';
import { startValueIndexing, type ValueIndexEvent } from '../../src/store/ingest/value-indexes.ts';
import type { ValueIndex } from '../../src/store/model/contract.ts';
import { heldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';

const RETRY_MS = 1_000;
const index = (wanted: boolean): ValueIndex => ({
  id: 1,
  subject: 'logs',
  contract: 'SP000000000000000000002Q6VF78.pool',
  scope: 'amount',
  wanted,
  from: { position: 0, eventIndex: 0 },
});

/** Starts a task with the given batches. @param fails errors to throw, by the number of the write */
function startTask(batches: { wanted: boolean; ended: boolean }[], fails: Record<number, Error> = {}) {
  const clock = heldClock([RETRY_MS]);
  const logged: ValueIndexEvent[] = [];
  let [batchesDone, writes] = [0, 0];
  const write: LocalWrite = async (change) => {
    const doneBefore = batchesDone;
    const error = fails[writes++];
    const result = change();
    if (error === undefined) return result;
    // A rolled-back transaction has no effect.
    batchesDone = doneBefore;
    throw error;
  };
  const indexing = startValueIndexing({
    write,
    batch() {
      const next = batches[batchesDone];
      if (next === undefined) return null;
      batchesDone += 1;
      return { index: index(next.wanted), ended: next.ended };
    },
    clock,
    log: (event) => logged.push(event),
  });
  return { clock, said: logged, stop: () => indexing.stop(), made: () => batchesDone };
}

const named = { of: 'logs', contract: 'SP000000000000000000002Q6VF78.pool', field: 'amount' } as const;
const complete = { event: 'value_index_changed', state: 'complete', ...named } as const;
const removed = { event: 'value_index_changed', state: 'removed', ...named } as const;

test('batches are applied until none remains, and finished indexes are reported', async () => {
  const task = startTask([
    { wanted: false, ended: true },
    { wanted: true, ended: false },
    { wanted: true, ended: true },
  ]);
  await until(() => task.said.length === 2);
  expect(task.said).toEqual([removed, complete]);
  await task.stop();
});

test('if the database is unavailable, nothing is reported, and the work continues a second later', async () => {
  const unavailable = new StoreUnavailableError('full', 'the disk is full');
  const task = startTask([{ wanted: true, ended: true }], { 0: unavailable, 1: unavailable });
  for (const _ of [1, 2]) {
    await until(() => task.clock.waiting(RETRY_MS) === 1);
    expect(task.said).toEqual([]);
    task.clock.pass(RETRY_MS);
  }
  await until(() => task.said.length === 1);
  expect(task.said).toEqual([complete]);
  await task.stop();
});

test('a bug ends the work and is reported; a stop ends the waiting', async () => {
  const bug = new Error('a bug');
  const task = startTask([{ wanted: true, ended: true }], { 0: bug });
  await until(() => task.said.length === 1);
  expect(task.said).toEqual([{ event: 'unexpected_error', part: 'value_index', cause: bug }]);
  await task.stop();
  const waiting = startTask([{ wanted: true, ended: true }], {
    0: new StoreUnavailableError('full', 'the disk is full'),
  });
  await until(() => waiting.clock.waiting(RETRY_MS) === 1);
  await waiting.stop();
  expect(waiting.clock.waiting(RETRY_MS)).toBe(0);
});
