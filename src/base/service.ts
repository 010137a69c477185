/** Background work of a process: services are started in order and stopped in reverse, and most of them are loops. */
import type { Clock } from './clock.ts';
import { OperatorError } from './errors.ts';
import { isTransient } from './store-failure.ts';

/** Work that goes on until it is stopped. */
export interface Service {
  /** Ends the work. Resolves when nothing of it goes on. */
  stop(): Promise<void> | void;
}

/** The services of a process, in the order in which they were started. */
export class Services implements Service {
  readonly #stack = new AsyncDisposableStack();

  /**
   * Adds a service that was started.
   * @param name in the error if it fails to stop
   * @param service null for one that isn't needed
   * @returns the service
   */
  use<T extends Service | null>(name: string, service: T): T {
    if (service !== null) this.#stack.defer(() => stopped(name, service));
    return service;
  }

  /** Stops the services, the last one first. If one fails to stop, the others are stopped all the same. */
  stop(): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

async function stopped(name: string, service: Service): Promise<void> {
  try {
    await service.stop();
  } catch (cause) {
    throw new Error(`The service "${name}" failed to stop.`, { cause });
  }
}

/** Waits between attempts that fail: each is twice as long as the one before. */
export interface Waits {
  /** Milliseconds after the first failure. */
  firstMs: number;
  /** Maximum milliseconds. */
  mostMs: number;
}

/**
 * The wait after failed attempts.
 * @param failures number of failures in a row, at least 1
 * @returns milliseconds
 */
export const backoff = (failures: number, { firstMs, mostMs }: Waits): number =>
  Math.min(firstMs * 2 ** (failures - 1), mostMs);

/** Whether a service tries again after a failure: it may pass, or the operator can end it. */
const mayPass = (error: unknown): error is Error => isTransient(error) || error instanceof OperatorError;

export interface LoopOptions<E extends Error> {
  clock: Clock;
  /** Milliseconds from the end of a turn to the next one. */
  everyMs: number;
  /** Milliseconds before the first turn; `everyMs` if omitted. */
  firstMs?: number;
  /** Waits after failures; `everyMs` if omitted. */
  waits?: Waits;
  /**
   * Does the work once.
   * @param signal aborted when the loop is to end
   * @returns milliseconds until the next turn, null to wait until the loop is woken; `everyMs` if undefined
   */
  turn(signal: AbortSignal): Promise<number | null> | Promise<void>;
  /** Whether to try again after an error. By default after one that passes by itself, or that the operator can end. */
  passes?(error: unknown): error is E;
  /** Called with a failure, unless the one before had the same message. */
  failed?(error: E): void;
  /** Called after the first turn that succeeds again. @param failures how many turns failed in a row */
  recovered?(failures: number): void;
}

/** Work that is repeated. */
export interface Loop extends Service {
  stop(): Promise<void>;
  /** Begins a turn now, or another one after the present one. */
  wake(): void;
  /** Why the last turn failed; null if it didn't. */
  failure(): string | null;
}

/**
 * Repeats work until it is stopped. A failure is tried again after ever longer waits, and reported once; an error that isn't
 * known to pass ends the process, as one that nobody catches.
 */
export function startLoop<E extends Error = Error>(options: LoopOptions<E>): Loop {
  const { clock, everyMs, firstMs = everyMs, waits = { firstMs: everyMs, mostMs: everyMs } } = options;
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
      return next ?? (next === null ? null : everyMs);
    } catch (error) {
      if (signal.aborted && (error === signal.reason || passes(error))) return null;
      if (!passes(error)) throw error;
      failures += 1;
      if (error.message !== reason) options.failed?.(error);
      reason = error.message;
      return backoff(failures, waits);
    }
  }

  /** Waits for a time, until the loop is woken, or until it is stopped. */
  async function waited(milliseconds: number | null): Promise<void> {
    if (isWoken || signal.aborted || milliseconds === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = milliseconds === null ? () => {} : clock.after(milliseconds, resolve);
    endWait = resolve;
    await promise;
    cancel();
  }

  async function run(): Promise<void> {
    for (let wait: number | null = firstMs; ; wait = await attempt()) {
      await waited(wait);
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
