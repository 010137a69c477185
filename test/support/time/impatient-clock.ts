/** A clock for tests of failing servers: waits before a retry end at once, and requests never time out. */
import { type Clock, systemClock } from '../../../src/base/clock.ts';

/** Timers of at least this many milliseconds limit a request; shorter ones are waits between requests. */
const BOUND = 20_000;

export const impatientClock: Clock = {
  ...systemClock,
  after(milliseconds, call) {
    if (milliseconds < BOUND) queueMicrotask(call);
    return () => {};
  },
};
