/** What a server did in each ten seconds of the last hour, in memory. */
import type { Clock } from '../base/clock.ts';
import type { HookCounters, HookTimers } from '../hooks/counters.ts';
import type { RequestMetrics } from '../http/route.ts';
import type { EventMetrics } from '../node/event-intake.ts';

/** One interval. The times are null where nothing was timed. */
interface Sample {
  /** The end of the interval in Unix seconds. */
  time: number;
  eventsPerSecond: number;
  requestsPerSecond: number;
  requestMs: number | null;
  delivered: number;
  failed: number;
  deliveryMs: number | null;
  slowestDeliveryMs: number | null;
  memoryBytes: number;
  /** Processor time as a share of one processor. */
  cpuShare: number;
}

/** What a sample is read from. */
interface SampledProcess {
  clock: Clock;
  requests: RequestCounts;
  /** Bytes of memory, and microseconds of processor time since the process began. */
  resources?: () => { memoryBytes: number; cpuMicroseconds: number };
}

const INTERVAL_SECONDS = 10;
const SAMPLES = 3_600 / INTERVAL_SECONDS;

const processResources = () => {
  const { user, system } = process.cpuUsage();
  return { memoryBytes: process.memoryUsage.rss(), cpuMicroseconds: user + system };
};

const mean = (sum: number, count: number): number | null => (count === 0 ? null : sum / count);

/** Deliveries of the interval that is under way. */
const noAttempts = () => ({ count: 0, milliseconds: 0, slowest: 0 });

/** Samples what a process does, and keeps the samples of an hour. */
export class LastHour {
  readonly intervalSeconds = INTERVAL_SECONDS;
  readonly #process: Required<SampledProcess>;
  readonly #samples: Sample[] = [];
  #events = 0;
  #attempts = noAttempts();
  #hooks: () => Pick<HookCounters, 'delivered' | 'failed'> = () => ({ delivered: 0, failed: 0 });
  #before: { at: number; cpuMicroseconds: number; delivered: number; failed: number };

  constructor(process: SampledProcess) {
    this.#process = { resources: processResources, ...process };
    this.#before = this.#totals();
  }

  /** Samples from now on. @returns a function that ends it */
  start(): () => void {
    return this.#process.clock.every(INTERVAL_SECONDS * 1_000, () => this.sample());
  }

  /** Metrics that count events here as well. */
  aroundEvents(metrics: EventMetrics): EventMetrics {
    return {
      answered: (...answered) => {
        this.#events += 1;
        metrics.answered(...answered);
      },
    };
  }

  /** Timers that time attempts here as well. */
  aroundTimers(timers: HookTimers): HookTimers {
    return {
      evaluated: timers.evaluated,
      attempted: (milliseconds) => {
        timers.attempted(milliseconds);
        this.#attempts.count += 1;
        this.#attempts.milliseconds += milliseconds;
        this.#attempts.slowest = Math.max(this.#attempts.slowest, milliseconds);
      },
    };
  }

  /** Takes the outcomes of deliveries from these counters. */
  follow(hooks: () => Pick<HookCounters, 'delivered' | 'failed'>): void {
    this.#hooks = hooks;
    this.#before = { ...this.#before, ...hooks() };
  }

  #totals() {
    const { delivered, failed } = this.#hooks();
    const { cpuMicroseconds } = this.#process.resources();
    return { at: this.#process.clock.monotonic(), cpuMicroseconds, delivered, failed };
  }

  /** Ends the interval that is under way. */
  sample(): void {
    const { clock, requests, resources } = this.#process;
    const [before, totals] = [this.#before, this.#totals()];
    const seconds = Math.max(0.001, (totals.at - before.at) / 1_000);
    const taken = requests.take();
    this.#samples.push({
      time: Math.floor(clock.now() / 1_000),
      eventsPerSecond: this.#events / seconds,
      requestsPerSecond: taken.requests / seconds,
      requestMs: mean(taken.milliseconds, taken.requests),
      delivered: totals.delivered - before.delivered,
      failed: totals.failed - before.failed,
      deliveryMs: mean(this.#attempts.milliseconds, this.#attempts.count),
      slowestDeliveryMs: this.#attempts.count === 0 ? null : this.#attempts.slowest,
      memoryBytes: resources().memoryBytes,
      cpuShare: (totals.cpuMicroseconds - before.cpuMicroseconds) / (seconds * 1e6),
    });
    if (this.#samples.length > SAMPLES) this.#samples.shift();
    this.#before = totals;
    this.#events = 0;
    this.#attempts = noAttempts();
  }

  /** The samples, oldest first. */
  samples(): readonly Sample[] {
    return this.#samples;
  }
}

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
