/** Repeated calls of the system's clock share one timer. */
import { expect, test } from 'bun:test';
import { systemClock } from '../../src/base/clock.ts';
import { until } from '../support/time/until.ts';

test('repeated calls that are due at the same time run in one turn, whenever each was started', async () => {
  let turns = 0;
  const calls: { interval: number; turn: number }[] = [];
  const call = (interval: number) => () => {
    calls.push({ interval, turn: turns });
    // Runs after every timer that is due now.
    queueMicrotask(() => (turns += 1));
  };
  const callsEvery = (period: number) => calls.filter(({ interval }) => interval === period);
  const ends = [systemClock.every(10, call(10))];
  await until(() => callsEvery(10).length >= 2, 'calls of the shorter interval');
  ends.push(systemClock.every(30, call(30)));
  await until(() => callsEvery(30).length >= 3, 'calls of the longer interval');
  for (const end of ends) end();
  const shared = new Set(callsEvery(10).map(({ turn }) => turn));
  expect(callsEvery(30).filter(({ turn }) => !shared.has(turn))).toEqual([]);
});

test('a repeated call that was stopped runs no more, also if it was due at the same time', async () => {
  let [stopped, others] = [0, 0];
  const endFirst = systemClock.every(10, () => {
    others += 1;
    endSecond();
  });
  const endSecond = systemClock.every(10, () => (stopped += 1));
  await until(() => others >= 2, 'calls');
  endFirst();
  expect(stopped).toBe(0);
});
