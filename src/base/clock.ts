/** Time: the system's clock in production, a clock that the test advances in tests. */
import { setImmediate as turn } from 'node:timers/promises';

/**
 * Calls a function at an interval, in milliseconds. The timer doesn't keep the process alive.
 * @returns a function that stops the timer
 */
export type Every = (milliseconds: number, call: () => void) => () => void;

export interface Clock {
  /** Returns Unix milliseconds. */
  now(): number;
  /** Returns the milliseconds since an arbitrary moment. The value never decreases. */
  monotonic(): number;
  /** Calls a function once, after a delay in milliseconds. @returns a function that cancels the call */
  after(milliseconds: number, call: () => void): () => void;
  every: Every;
  /** Resolves after the event loop has run everything else that is ready. */
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
 * Waits for a number of milliseconds.
 * @param signal ends the wait early, without an error
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
