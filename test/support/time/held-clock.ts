/** The system's clock, except that waits of chosen lengths last until the test ends them. */
import { type Clock, systemClock } from '../../../src/base/clock.ts';

export interface HeldClock extends Clock {
  /** Returns the number of callers that wait for this time. */
  waiting(milliseconds: number): number;
  /** Ends the wait of all callers that wait for exactly this time. */
  pass(milliseconds: number): void;
}

interface Timer {
  call: () => void;
  repeats: boolean;
}

/**
 * @param lengths the waits that are held, in milliseconds
 * @param now returns the time, in Unix milliseconds
 */
export function heldClock(lengths: readonly number[], now: () => number = systemClock.now): HeldClock {
  const timers = new Map(lengths.map((length) => [length, new Set<Timer>()]));
  const heldFor = (milliseconds: number): Set<Timer> => {
    const waiting = timers.get(milliseconds);
    if (waiting === undefined) throw new Error(`waits of ${milliseconds} ms are not held`);
    return waiting;
  };
  /** Only {@link HeldClock.pass} moves this time, so that nothing is late on a slow machine. */
  let monotonic = 0;
  const hold = (milliseconds: number, timer: Timer): (() => void) => {
    heldFor(milliseconds).add(timer);
    return () => heldFor(milliseconds).delete(timer);
  };
  return {
    now,
    monotonic: () => monotonic,
    after: (milliseconds, call) =>
      timers.has(milliseconds) ? hold(milliseconds, { call, repeats: false }) : systemClock.after(milliseconds, call),
    every: (milliseconds, call) =>
      timers.has(milliseconds) ? hold(milliseconds, { call, repeats: true }) : systemClock.every(milliseconds, call),
    turn: systemClock.turn,
    waiting: (milliseconds) => heldFor(milliseconds).size,
    pass(milliseconds) {
      monotonic += milliseconds;
      for (const timer of [...heldFor(milliseconds)]) {
        if (!timer.repeats) heldFor(milliseconds).delete(timer);
        timer.call();
      }
    },
  };
}
