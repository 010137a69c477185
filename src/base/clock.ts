/** Time, for whatever waits or measures: the system's, or one that a test moves. */
import { setImmediate as turn } from 'node:timers/promises';

/** Calls it every so many milliseconds; keeps no process alive. @returns what ends that */
export type Every = (milliseconds: number, call: () => void) => () => void;

export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Milliseconds since any moment; never goes back. */
  monotonic(): number;
  /** Calls it once, so many milliseconds from now. @returns what prevents that */
  after(milliseconds: number, call: () => void): () => void;
  every: Every;
  /** Resolves once everything else that is ready had its turn. */
  turn(): Promise<void>;
}

export const systemClock: Clock = {
  now: Date.now,
  monotonic: () => performance.now(),
  after(milliseconds, call) {
    const timer = setTimeout(call, milliseconds);
    return () => clearTimeout(timer);
  },
  every(milliseconds, call) {
    const timer = setInterval(call, milliseconds);
    timer.unref();
    return () => clearInterval(timer);
  },
  turn: () => turn(),
};

/**
 * Waits so many milliseconds.
 * @param signal ends the wait early
 */
export function pause(clock: Clock, milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(milliseconds, done);
    signal?.addEventListener('abort', done, { once: true });
    if (signal?.aborted === true) done();
  });
}
