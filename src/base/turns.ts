/** Shares a thread among its clients, so that nobody waits for all that another one sends. */
import type { Clock } from './clock.ts';

/**
 * Milliseconds that requests and messages of clients may take of one turn of the event loop. Whatever comes later waits
 * for another turn.
 */
export const TURN_MS = 1;

/** What long work awaits between its batches: nothing while there is time, else what resolves in a later turn. */
export type Pause = () => Promise<void> | undefined;

/**
 * Makes what long work awaits between its batches, so that everything else on its thread has its turn.
 * @param milliseconds that the work may take of one turn of the event loop
 */
export function turnAfter(milliseconds: number, clock: Pick<Clock, 'monotonic' | 'turn'>): Pause {
  let end = clock.monotonic() + milliseconds;
  const later = async () => {
    await clock.turn();
    end = clock.monotonic() + milliseconds;
  };
  return () => (clock.monotonic() < end ? undefined : later());
}

/** Milliseconds that long work for one client takes of a turn before all others have theirs. */
export const WORK_MS = 2;

/**
 * Lets some pieces of work run at a time, and the others in the order in which they came.
 * @param most at a time
 */
export function atMost(most: number) {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async <T>(work: () => Promise<T>): Promise<T> => {
    // Who leaves gives its place to the next one, so that nobody who comes meanwhile takes it.
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve));
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

/** The most waiting requests and messages that begin in one turn. */
const MOST_AT_ONCE = 32;

/**
 * The queue in which clients of one thread wait for their turn.
 *
 * The runtime reads up to 512 KB of a connection at once, several times over, and it accepts connections and handles
 * their first requests for as long as others arrive. All of that is one turn of the event loop, in which no other
 * connection is read. So a request or message that comes when the turn has had its time waits, and those who wait are let
 * on in the order in which they came. Long work that has had its time waits behind all of them, and one piece of it goes on
 * in each turn: however much of it there is, a request waits for one of its batches.
 */
export class Turns {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  /** Long work that has had its time. */
  readonly #long: (() => void)[] = [];
  /** When the turn has had its time, on the monotonic clock; null while nobody is served. */
  #end: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Asks to handle one request or message.
   * @returns undefined where it may be handled at once, else a promise that resolves when it may
   */
  next(): Promise<void> | undefined {
    if (this.#end === null) {
      this.#start();
      return undefined;
    }
    return this.#waiting.length === 0 && this.#hasTime() ? undefined : this.#wait();
  }

  /**
   * Asks to handle one more message of a client that has waited. The runtime finishes what a message began before it
   * reports the next one of its connection, and a turn between them does the same.
   * @returns a promise that resolves in a later turn
   */
  later(): Promise<void> {
    if (this.#end === null) this.#start();
    return this.#wait();
  }

  /**
   * Asks to go on with long work, behind everybody who waits.
   * @returns a promise that resolves in a later turn
   */
  behindOthers(): Promise<void> {
    if (this.#end === null) this.#start();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#long.push(resolve);
    return promise;
  }

  /** Begins long work of one client. @returns what it awaits between its batches */
  longWork(): Pause {
    return turnAfter(WORK_MS, { monotonic: this.#clock.monotonic, turn: () => this.behindOthers() });
  }

  #start(): void {
    this.#begin();
    void this.#goOn();
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

  /** Gives each turn its time, until a turn begins in which nobody waits and no long work is left. */
  async #goOn(): Promise<void> {
    for (;;) {
      await this.#clock.turn();
      if (this.#waiting.length === 0 && this.#long.length === 0) break;
      this.#begin();
      if (this.#waiting.length > 0) await this.#letOn();
      this.#long.shift()?.();
    }
    this.#end = null;
  }

  /** Lets on those who wait, while there is time; at least one of them. */
  async #letOn(): Promise<void> {
    this.#waiting.shift()?.();
    // Calls that are made in one turn follow each other, and each begins when the one before has nothing left to do but
    // to wait.
    const others = Math.min(this.#waiting.length, MOST_AT_ONCE);
    await Promise.all(
      Array.from({ length: others }, async () => {
        await this.#clock.turn();
        if (this.#hasTime()) this.#waiting.shift()?.();
      }),
    );
  }
}
