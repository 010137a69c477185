/** Samples of a server's activity forward their counts and start immediately. */
import { expect, test } from 'bun:test';
import { systemClock } from '../../src/base/clock.ts';
import { DiskSpace, LastHour, RequestCounts } from '../../src/metrics/last-hour.ts';
import { manualClock } from '../support/time/manual-clock.ts';

/** Returns a system clock whose time and repeated calls a test controls. */
function controlledClock() {
  const manual = manualClock();
  return { manual, clock: { ...systemClock, ...manual } };
}

test("the duration of an attempt is forwarded to the metrics and included in its interval's sample", () => {
  const { manual, clock } = controlledClock();
  const lastHour = new LastHour({ clock, requests: new RequestCounts() });
  const timed: number[] = [];
  const timers = lastHour.aroundTimers({ evaluated: () => {}, attempted: (milliseconds) => timed.push(milliseconds) });
  const stop = lastHour.start();
  for (const milliseconds of [10, 50]) timers.attempted(milliseconds);
  manual.tick(10_000);
  stop();
  expect(timed).toEqual([10, 50]);
  expect(lastHour.samples()).toMatchObject([{ time: 10, deliveryMs: 30, slowestDeliveryMs: 50 }]);
});

test('the rate of events covers the last minute, and the last event has its time', () => {
  const { manual, clock } = controlledClock();
  const lastHour = new LastHour({ clock, requests: new RequestCounts() });
  const events = lastHour.aroundEvents({ answered: () => {} });
  const stop = lastHour.start();
  expect([lastHour.eventsPerSecond(), lastHour.lastEvent()]).toEqual([0, null]);
  for (let second = 0; second < 100; second++) {
    events.answered('/new_block', 'applied', 1);
    manual.tick(1_000);
  }
  expect([lastHour.eventsPerSecond(), lastHour.lastEvent()]).toEqual([1, 99]);
  for (let interval = 0; interval < 7; interval++) manual.tick(10_000);
  expect(lastHour.eventsPerSecond()).toBe(0);
  stop();
});

test('the growth of the data is measured from the start and returned after an hour', () => {
  const { manual, clock } = controlledClock();
  const space = new DiskSpace(clock, () => 1_000_000 - manual.now() / 1_000);
  const stop = space.start();
  manual.tick(3_599_000);
  expect(space.growth()).toBeNull();
  manual.tick(1_000);
  stop();
  expect(space.growth()).toEqual({ seconds: 3_600, bytesPerDay: 86_400, fullInSeconds: 996_400 });
});
