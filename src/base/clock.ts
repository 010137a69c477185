/** Time and random numbers: the system's in production, the test's in tests. */
import { setImmediate as turn } from 'node:timers/promises';

/**
 * Calls a function at an interval, in milliseconds. It doesn't keep the process alive.
 * @returns a function that stops the calls
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

interface RepeatedCall {
  milliseconds: number;
  call: () => void;
  /** Time of the next call, on the monotonic clock: a multiple of the interval. */
  due: number;
}

/**
 * Repeated calls with a single timer. Calls that are due at the same time share one wake-up, since each wake-up of an idle
 * process costs more than these calls do.
 */
class RepeatedCalls {
  readonly #all = new Set<RepeatedCall>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  add(milliseconds: number, call: () => void): () => void {
    const repeated = { milliseconds, call, due: nextMultiple(milliseconds, performance.now()) };
    this.#all.add(repeated);
    this.#wait();
    return () => {
      this.#all.delete(repeated);
      this.#wait();
    };
  }

  /** Starts the timer for the next call. */
  #wait(): void {
    clearTimeout(this.#timer);
    if (this.#all.size === 0) return;
    const due = Math.min(...[...this.#all].map(({ due }) => due));
    // Rounded up, because timers count whole milliseconds.
    this.#timer = setTimeout(() => this.#run(), Math.max(0, Math.ceil(due - performance.now())));
    this.#timer.unref();
  }

  #run(): void {
    const now = performance.now();
    const due = [...this.#all].filter((repeated) => repeated.due <= now);
    for (const repeated of due) repeated.due = nextMultiple(repeated.milliseconds, now);
    this.#wait();
    for (const repeated of due) if (this.#all.has(repeated)) repeated.call();
  }
}

/** Returns the next multiple of an interval after a time. */
const nextMultiple = (milliseconds: number, now: number): number => (Math.floor(now / milliseconds) + 1) * milliseconds;

const repeatedCalls = new RepeatedCalls();

export const systemClock: Clock = {
  now: Date.now,
  monotonic: () => performance.now(),
  after(milliseconds, call) {
    const timer = setTimeout(call, milliseconds);
    return () => clearTimeout(timer);
  },
  every: (milliseconds, call) => repeatedCalls.add(milliseconds, call),
  turn: () => turn(),
};

/** Returns the present time in Unix microseconds, the unit of the times of entries. */
export const microseconds = ({ now }: Pick<Clock, 'now'>): number => now() * 1_000;

/** Waits for a number of milliseconds. @param signal ends the wait early, without an error */
export function pause(clock: Pick<Clock, 'after'>, milliseconds: number, signal?: AbortSignal): Promise<void> {
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

export interface RandomSource {
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  number(): number;
  uuid(): string;
}

export const systemRandom: RandomSource = { number: Math.random, uuid: () => crypto.randomUUID() };
