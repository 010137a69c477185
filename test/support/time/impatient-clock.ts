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

/** A clock like {@link impatientClock} that lists the waits. The time limits of requests end when the test calls `stall`. */
export function stallingClock(): Clock & { stall(): void; waits: number[] } {
  const limits = new Set<() => void>();
  const waits: number[] = [];
  return {
    ...systemClock,
    waits,
    after(milliseconds, call) {
      if (milliseconds >= BOUND) {
        const limit = () => call();
        limits.add(limit);
        return () => limits.delete(limit);
      }
      waits.push(milliseconds);
      queueMicrotask(call);
      return () => {};
    },
    stall() {
      for (const limit of [...limits]) {
        limits.delete(limit);
        limit();
      }
    },
  };
}
