/** A clock that stands still, and what hangs on it. */
import type { Every } from '../../../src/base/clock.ts';

export interface ManualClock {
  /** Milliseconds since it was made. */
  now(): number;
  /** Calls what was given to it when {@link tick} says so. */
  every: Every;
  /** Lets time pass, then calls what is to be done again and again, once. */
  tick(milliseconds?: number): void;
}

export function manualClock(): ManualClock {
  const calls = new Set<() => void>();
  let time = 0;
  return {
    now: () => time,
    every(_, call) {
      calls.add(call);
      return () => calls.delete(call);
    },
    tick(milliseconds = 0) {
      time += milliseconds;
      for (const call of calls) call();
    },
  };
}
