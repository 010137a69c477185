/** Counts the requests of all threads in memory that they share: asking each thread for its metrics would cost more. */
import type { RequestMetrics } from '../http/request-metrics.ts';

/** Places of the counts. */
const REQUESTS = 0;
const MILLISECONDS = 1;
/** What the requests took beyond whole milliseconds: in microseconds alone, the sum of long requests would overflow. */
const MICROSECONDS = 2;
const COUNTS = 3;

/** Counts requests, and the time that they took, until the counts are taken. */
export class RequestCounts {
  readonly #counts: Uint32Array<SharedArrayBuffer>;

  /** @param memory of another thread's counts; else memory of its own */
  constructor(memory = new SharedArrayBuffer(COUNTS * Uint32Array.BYTES_PER_ELEMENT)) {
    this.#counts = new Uint32Array(memory);
  }

  /** What another thread makes its counts of. */
  get memory(): SharedArrayBuffer {
    return this.#counts.buffer;
  }

  /** Metrics that count requests here as well. */
  around(metrics: RequestMetrics): RequestMetrics {
    return {
      route: (method, pattern) => {
        const counted = metrics.route(method, pattern);
        return (status, milliseconds) => {
          counted(status, milliseconds);
          Atomics.add(this.#counts, REQUESTS, 1);
          const whole = Math.floor(milliseconds);
          Atomics.add(this.#counts, MILLISECONDS, whole);
          Atomics.add(this.#counts, MICROSECONDS, Math.round((milliseconds - whole) * 1_000));
        };
      },
    };
  }

  /** The requests since the last call, and the time that they took together. */
  take(): { requests: number; milliseconds: number } {
    return {
      requests: Atomics.exchange(this.#counts, REQUESTS, 0),
      milliseconds:
        Atomics.exchange(this.#counts, MILLISECONDS, 0) + Atomics.exchange(this.#counts, MICROSECONDS, 0) / 1_000,
    };
  }
}
