/** Shares a thread among its clients, so that nobody waits for all that another one sends. */
import type { Clock } from './clock.ts';

/**
 * Milliseconds that requests and messages of clients may take of one turn of the event loop. Whatever comes later waits
 * for another turn.
 */
export const TURN_MS = 1;

/**
 * Makes what long work awaits between its steps, so that everything else on its thread has its turn.
 * @param milliseconds that the work may take of one turn of the event loop
 * @returns resolves at once while there is time, else in a later turn
 */
export function turnAfter(milliseconds: number, clock: Pick<Clock, 'monotonic' | 'turn'>): () => Promise<void> {
  let end = clock.monotonic() + milliseconds;
  return async () => {
    if (clock.monotonic() < end) return;
    await clock.turn();
    end = clock.monotonic() + milliseconds;
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
 * on in the order in which they came.
 */
export class Turns {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
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

  /** Gives each turn its time, until a turn begins in which nobody waits. */
  async #goOn(): Promise<void> {
    for (;;) {
      await this.#clock.turn();
      if (this.#waiting.length === 0) break;
      this.#begin();
      await this.#letOn();
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
