/** A clock that stands still until a test moves it. */
import type { Clock } from '../../../src/base/clock.ts';

export interface ManualClock extends Omit<Clock, 'turn'> {
  /** Lets milliseconds pass: ends the waits that are over, earliest first, and then calls each repeated call once. */
  tick(milliseconds?: number): void;
  /** Lets milliseconds pass in which no wait ends, as during a commit. */
  stall(milliseconds: number): void;
  /** Returns whether something waits. */
  isWaiting(): boolean;
  /** Ends all waits, earliest first. */
  endWaits(): void;
}

interface Waiting {
  due: number;
  call: () => void;
}

/** Makes a clock whose time starts at 0. */
export function manualClock(): ManualClock {
  const waiting = new Set<Waiting>();
  const repeated = new Set<() => void>();
  let time = 0;
  const endUntil = (moment: number): void => {
    for (const timer of [...waiting].sort((a, b) => a.due - b.due)) {
      if (timer.due <= moment && waiting.delete(timer)) timer.call();
    }
  };
  return {
    now: () => time,
    monotonic: () => time,
    after(milliseconds, call) {
      const timer = { due: time + milliseconds, call };
      waiting.add(timer);
      return () => void waiting.delete(timer);
    },
    every(_, call) {
      repeated.add(call);
      return () => repeated.delete(call);
    },
    tick(milliseconds = 0) {
      time += milliseconds;
      endUntil(time);
      for (const call of repeated) call();
    },
    stall(milliseconds) {
      time += milliseconds;
    },
    isWaiting: () => waiting.size > 0,
    endWaits: () => endUntil(Number.POSITIVE_INFINITY),
  };
}
