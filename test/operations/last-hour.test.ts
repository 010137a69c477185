/** Samples of a server's activity forward their counts and start immediately. */
import { expect, test } from 'bun:test';
import { systemClock } from '../../src/base/clock.ts';
import { diskSpace, lastHour, RequestCounts } from '../../src/metrics/last-hour.ts';
import { manualClock } from '../support/time/manual-clock.ts';

/** Returns a system clock whose time and repeated calls a test controls. */
function controlledClock() {
  const manual = manualClock();
  return { manual, clock: { ...systemClock, ...manual } };
}

test("the duration of an attempt is forwarded to the metrics and included in its interval's sample", () => {
  const { manual, clock } = controlledClock();
  const hour = lastHour({ clock, requests: new RequestCounts() });
  const timed: number[] = [];
  const timers = hour.aroundTimers({ evaluated: () => {}, attempted: (milliseconds) => timed.push(milliseconds) });
  const stop = hour.start();
  for (const milliseconds of [10, 50]) timers.attempted(milliseconds);
  manual.tick(10_000);
  stop();
  expect(timed).toEqual([10, 50]);
  expect(hour.samples()).toMatchObject([{ time: 10, deliveryMs: 30, slowestDeliveryMs: 50 }]);
});

test('the rate of events covers the last minute, and the last event has its time', () => {
  const { manual, clock } = controlledClock();
  const hour = lastHour({ clock, requests: new RequestCounts() });
  const events = hour.aroundEvents({ answered: () => {} });
  const stop = hour.start();
  expect([hour.eventsPerSecond(), hour.lastEvent()]).toEqual([0, null]);
  for (let second = 0; second < 100; second++) {
    events.answered('/new_block', 'applied', 1);
    manual.tick(1_000);
  }
  expect([hour.eventsPerSecond(), hour.lastEvent()]).toEqual([1, 99]);
  for (let interval = 0; interval < 7; interval++) manual.tick(10_000);
  expect(hour.eventsPerSecond()).toBe(0);
  stop();
});

test('the growth of the data is measured from the start and returned after an hour', () => {
  const { manual, clock } = controlledClock();
  const space = diskSpace(clock, () => 1_000_000 - manual.now() / 1_000);
  const stop = space.start();
  manual.tick(3_599_000);
  expect(space.growth()).toBeNull();
  manual.tick(1_000);
  stop();
  expect(space.growth()).toEqual({ seconds: 3_600, bytesPerDay: 86_400, fullInSeconds: 996_400 });
});
