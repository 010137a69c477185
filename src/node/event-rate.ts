/** How many events the node posted lately, and when the last one came. */

import type { EventMetrics } from './event-intake.ts';

/** Seconds over which the rate is taken. */
const WINDOW = 60;

/** Counts events by the second. */
export class EventRate {
  readonly #now: () => number;
  /** Events in each second of the window; the second is its index modulo the window. */
  readonly #counts = new Uint32Array(WINDOW);
  #newest = 0;
  #last: number | null = null;

  /** @param now the clock, in Unix milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Counts an event that came now. */
  count(): void {
    this.#forget();
    const at = this.#newest % WINDOW;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#last = this.#newest;
  }

  /** Clears the seconds since the newest one that was counted. */
  #forget(): void {
    const second = Math.floor(this.#now() / 1000);
    const from = Math.max(this.#newest + 1, second - WINDOW + 1);
    for (let stale = from; stale <= second; stale++) this.#counts[stale % WINDOW] = 0;
    this.#newest = Math.max(second, this.#newest);
  }

  /** Events per second over the last minute. */
  perSecond(): number {
    this.#forget();
    return this.#counts.reduce((sum, count) => sum + count, 0) / WINDOW;
  }

  /** Unix seconds of the last event; null before the first. */
  last(): number | null {
    return this.#last;
  }
}

/** Metrics that count events for a rate as well. */
export const countedBy = (rate: EventRate, metrics: EventMetrics): EventMetrics => ({
  answered(...answered) {
    rate.count();
    metrics.answered(...answered);
  },
});
