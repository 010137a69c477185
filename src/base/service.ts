/** Background work of a process. Services are started in order and stopped in reverse order, and most of them are loops. */
import { type Clock, pause } from './clock.ts';
import { OperatorError } from './errors.ts';
import { isTransient } from './system-errors.ts';

export interface Service {
  /** Ends the work. Resolves after all of it has ended. */
  stop(): Promise<void> | void;
}

/** The services of a process, in the order in which they started. */
export class Services implements Service {
  readonly #stack = new AsyncDisposableStack();

  /**
   * Adds a service that was started.
   * @param name in the error if the service fails to stop
   * @param service null if it isn't needed
   * @returns the service
   */
  use<T extends Service | null>(name: string, service: T): T {
    if (service !== null) this.#stack.defer(() => stopService(name, service));
    return service;
  }

  /** Stops the services, the last one first. If one fails to stop, the others are still stopped. */
  stop(): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

async function stopService(name: string, service: Service): Promise<void> {
  try {
    await service.stop();
  } catch (cause) {
    throw new Error(`The service "${name}" failed to stop.`, { cause });
  }
}

/** Waits between failed attempts. Each wait is twice as long as the previous one, apart from the random part. */
export interface Backoff {
  /** Milliseconds after the first failure. */
  firstMs: number;
  /** Maximum milliseconds, before the random part. */
  maxMs: number;
  /** Returns a number from 0 to 1, so that processes don't try again all at once. */
  random: () => number;
}

/** Part of a wait by which it is longer or shorter at random. */
export const JITTER = 0.2;

/** Returns the wait after failed attempts. @param failures number of failures in a row, at least 1 @returns milliseconds */
export const backoff = (failures: number, { firstMs, maxMs, random }: Backoff): number =>
  Math.round(Math.min(firstMs * 2 ** (failures - 1), maxMs) * (1 - JITTER + 2 * JITTER * random()));

/**
 * Repeats an attempt until its result is final.
 * @param waitAfter returns the milliseconds until the next attempt, or null if the result is final; called with the number of
 *   attempts so far
 */
export async function withRetries<T>(
  clock: Pick<Clock, 'after'>,
  attempt: () => Promise<T>,
  waitAfter: (result: T, attempts: number) => number | null,
): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    const result = await attempt();
    const wait = waitAfter(result, attempts);
    if (wait === null) return result;
    await pause(clock, wait);
  }
}

/** Reports whether a service tries again after a failure: it may pass, or the operator can resolve it. */
const mayPass = (error: unknown): error is Error => isTransient(error) || error instanceof OperatorError;

export interface LoopOptions<E extends Error> {
  clock: Clock;
  /** Milliseconds from the end of a turn to the next one. */
  everyMs: number;
  /** Milliseconds before the first turn; `everyMs` if omitted. */
  firstMs?: number;
  /** Waits after failures; `everyMs` if omitted. */
  waits?: Backoff;
  /**
   * Does the work once.
   * @param signal aborted when the loop must end
   * @returns milliseconds until the next turn; null to wait until the loop is woken; `everyMs` if undefined
   */
  turn(signal: AbortSignal): Promise<number | null> | Promise<void>;
  /**
   * Reports whether to try again after an error. By default, the loop tries again if the error may pass or the operator
   * can resolve it.
   */
  passes?(error: unknown): error is E;
  /** Called with a failure, unless the previous failure had the same message. */
  failed?(error: E): void;
  /** Called after the first success that follows failures. @param failures number of failed turns in a row */
  recovered?(failures: number): void;
}

export interface Loop extends Service {
  stop(): Promise<void>;
  /** Starts a turn now, or after the current turn. */
  wake(): void;
  /** Returns the message of the last turn's failure; null if the turn succeeded. */
  failure(): string | null;
}

/**
 * Repeats work until it is stopped. After a failure, the loop waits longer and longer between attempts, and reports the
 * failure once. Any error that isn't expected to pass ends the process like an uncaught error.
 */
export function startLoop<E extends Error = Error>(options: LoopOptions<E>): Loop {
  const { clock, everyMs, firstMs = everyMs, waits } = options;
  const passes = options.passes ?? (mayPass as (error: unknown) => error is E);
  const stopping = new AbortController();
  const { signal } = stopping;
  let failures = 0;
  let reason: string | null = null;
  let isWoken = false;
  let endWait = () => {};

  /** @returns milliseconds until the next turn; null if there is none until the loop is woken */
  async function attempt(): Promise<number | null> {
    try {
      const next = await options.turn(signal);
      if (failures > 0) options.recovered?.(failures);
      [failures, reason] = [0, null];
      return next === undefined ? everyMs : next;
    } catch (error) {
      if (signal.aborted && (error === signal.reason || passes(error))) return null;
      if (!passes(error)) throw error;
      failures += 1;
      if (error.message !== reason) options.failed?.(error);
      reason = error.message;
      return waits === undefined ? everyMs : backoff(failures, waits);
    }
  }

  /** Waits for a time, until the loop is woken, or until it is stopped. */
  async function sleep(milliseconds: number | null): Promise<void> {
    if (isWoken || signal.aborted || milliseconds === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = milliseconds === null ? () => {} : clock.after(milliseconds, resolve);
    endWait = resolve;
    await promise;
    cancel();
  }

  async function run(): Promise<void> {
    for (let wait: number | null = firstMs; ; wait = await attempt()) {
      await sleep(wait);
      // The caller that woke the loop finishes first.
      if (isWoken || wait === 0) await clock.turn();
      if (signal.aborted) return;
      isWoken = false;
    }
  }

  const running = run();
  return {
    wake() {
      isWoken = true;
      endWait();
    },
    failure: () => reason,
    async stop() {
      stopping.abort();
      endWait();
      await running;
    },
  };
}
