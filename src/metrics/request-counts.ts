/** Counts the requests of all threads in memory that they share: asking each thread for its metrics would cost more. */
import type { RequestMetrics } from '../http/request-metrics.ts';

const REQUESTS = 0;
const MICROSECONDS = 1;

export class RequestCounts {
  readonly #counts: Uint32Array<SharedArrayBuffer>;

  /** @param memory of another thread's counts; else memory of its own */
  constructor(memory = new SharedArrayBuffer(2 * Uint32Array.BYTES_PER_ELEMENT)) {
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
          Atomics.add(this.#counts, MICROSECONDS, Math.round(milliseconds * 1_000));
        };
      },
    };
  }

  /** The requests since the last call, and the time that they took together. */
  take(): { requests: number; milliseconds: number } {
    return {
      requests: Atomics.exchange(this.#counts, REQUESTS, 0),
      milliseconds: Atomics.exchange(this.#counts, MICROSECONDS, 0) / 1_000,
    };
  }
}
