/** A clock for servers that fail: waits before another try are over at once, and no request is given up. */
import { type Clock, systemClock } from '../../../src/base/clock.ts';

/** Milliseconds from which on a timer bounds a request, and is no wait before another. */
const BOUND = 20_000;

export const impatientClock: Clock = {
  ...systemClock,
  after(milliseconds, call) {
    if (milliseconds < BOUND) queueMicrotask(call);
    return () => {};
  },
};
