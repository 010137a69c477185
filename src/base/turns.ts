/** Shares a thread fairly among its clients, so that no client waits for all requests of another client. */
import { type Clock, pause } from './clock.ts';

/** Milliseconds per turn of the event loop for requests and messages of clients. Later requests wait for another turn. */
export const TURN_MS = 1;

/** Awaited between the batches of long work: undefined if the work has time left, otherwise a promise of a later turn. */
export type Pause = () => Promise<void> | undefined;

/**
 * Makes a {@link Pause} for long work, so that other work on its thread can run.
 * @param milliseconds the work's time in one turn of the event loop
 */
export function turnAfter(milliseconds: number, clock: Pick<Clock, 'monotonic' | 'turn'>): Pause {
  let end = clock.monotonic() + milliseconds;
  const later = async () => {
    await clock.turn();
    end = clock.monotonic() + milliseconds;
  };
  return () => (clock.monotonic() < end ? undefined : later());
}

/** Milliseconds per turn for the long work of one client. */
export const WORK_MS = 2;

/**
 * Limits concurrency. Work over the limit waits, first in, first out.
 * @param limit maximum number of pieces of work that run at the same time
 */
export function atMost(limit: number) {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async <T>(work: () => Promise<T>): Promise<T> => {
    // Finished work passes its slot directly to the next waiting work, so that new work can't take the slot.
    if (running >= limit) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}

/** Counts unfinished pieces of work by key. */
export function countWork() {
  const counts = new Map<string, number>();
  return {
    /** Returns the number of all unfinished pieces. */
    total: (): number => counts.values().reduce((sum, count) => sum + count, 0),
    /** Returns the number of unfinished pieces of a key. */
    of: (key: string): number => counts.get(key) ?? 0,
    /** Counts a piece of work. @returns a function that ends its count */
    begin(key: string): () => void {
      counts.set(key, (counts.get(key) ?? 0) + 1);
      return () => {
        const others = (counts.get(key) ?? 1) - 1;
        if (others === 0) counts.delete(key);
        else counts.set(key, others);
      };
    },
  };
}

/**
 * Spaces requests to another server. @param rate maximum requests per second; null for no limit
 * @returns a function that waits until the next request is allowed, and for more milliseconds before a retry
 */
export function makePacer(rate: number | null, clock: Pick<Clock, 'monotonic' | 'after'>, signal?: AbortSignal) {
  let next = 0;
  return async (moreMs = 0): Promise<void> => {
    signal?.throwIfAborted();
    const now = clock.monotonic();
    const start = Math.max(now, next) + moreMs;
    next = start + (rate === null ? 0 : 1_000 / rate);
    if (start > now) await pause(clock, start - now, signal);
    signal?.throwIfAborted();
  };
}

/** Maximum number of waiting requests and messages that start in one turn. */
const MAX_AT_ONCE = 32;

/**
 * The queue in which clients of one thread wait for their turn.
 *
 * Bun reads up to 512 KB of a connection at once, several times in a row. It also accepts connections and handles their
 * first requests as long as more arrive. All of this is one turn of the event loop, in which Bun reads no other
 * connection. A request or message that arrives after the turn's time is over therefore waits, first in, first out.
 * Long work that has used its time waits behind all requests, and one piece of it continues in each turn. A request
 * therefore waits for only one batch of long work.
 */
export class Turns {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  /** Waiting long work. */
  readonly #long: (() => void)[] = [];
  /** End of the turn's time, on the monotonic clock; null if no request is being handled. */
  #end: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Requests to handle one request or message.
   * @returns undefined if it may be handled at once, otherwise a promise that resolves when it may
   */
  next(): Promise<void> | undefined {
    if (this.#end === null) {
      this.#start();
      return undefined;
    }
    return this.#waiting.length === 0 && this.#hasTime() ? undefined : this.#wait();
  }

  /**
   * Requests to handle another message of a client that has waited. Bun runs all microtasks of a message before it
   * reports the next message of the connection. A turn between the two messages does the same.
   * @returns a promise that resolves in a later turn
   */
  later(): Promise<void> {
    if (this.#end === null) this.#start();
    return this.#wait();
  }

  /** Requests to continue long work, behind all waiting requests. @returns a promise that resolves in a later turn */
  yieldLongWork(): Promise<void> {
    if (this.#end === null) this.#start();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#long.push(resolve);
    return promise;
  }

  /** Starts long work of one client. @returns the function to await between its batches */
  longWork(): Pause {
    return turnAfter(WORK_MS, { monotonic: this.#clock.monotonic, turn: () => this.yieldLongWork() });
  }

  #start(): void {
    this.#begin();
    void this.#runTurns();
  }

  #wait(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    return promise;
  }

  #begin(): void {
    this.#end = this.#clock.monotonic() + TURN_MS;
  }

  #hasTime(): boolean {
    return this.#end !== null && this.#clock.monotonic() < this.#end;
  }

  /** Runs turns until nothing waits. */
  async #runTurns(): Promise<void> {
    for (;;) {
      await this.#clock.turn();
      if (this.#waiting.length === 0 && this.#long.length === 0) break;
      this.#begin();
      if (this.#waiting.length > 0) await this.#resumeWaiters();
      this.#long.shift()?.();
    }
    this.#end = null;
  }

  /** Resumes waiting requests, at least one, until the turn's time is over. */
  async #resumeWaiters(): Promise<void> {
    this.#waiting.shift()?.();
    // Callbacks of one turn run one after the other. Each starts after the previous callback has run its microtasks.
    const others = Math.min(this.#waiting.length, MAX_AT_ONCE);
    await Promise.all(
      Array.from({ length: others }, async () => {
        await this.#clock.turn();
        if (this.#hasTime()) this.#waiting.shift()?.();
      }),
    );
  }
}

/** Number of items that are mapped before the reader requests them. */
const AHEAD = 3;

/** Maps items in order, a few ahead of the reader. @throws the error of an item when the reader reaches the item */
export async function* mapAhead<T, R>(items: readonly T[], map: (item: T) => Promise<R>): AsyncGenerator<R> {
  const results: Promise<R>[] = [];
  for (let next = 0; next < items.length || results.length > 0; ) {
    for (; next < items.length && results.length <= AHEAD; next++) {
      const mapped = map(items[next]!);
      // The reader may stop before it reaches this item.
      mapped.catch(() => {});
      results.push(mapped);
    }
    yield await results.shift()!;
  }
}
