/** Activity of a server in the last hour, in intervals of ten seconds, in memory. */
import type { Clock } from '../base/clock.ts';
import type { HookCounters, HookTimers } from '../hooks/reporting.ts';
import type { RequestMetrics } from '../http/route.ts';
import type { EventMetrics } from '../node/event-intake.ts';
import { residentBytes } from './process-readings.ts';

/** One interval. Times are null if nothing was timed. */
interface Sample {
  /** End of the interval in Unix seconds. */
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

interface SampledProcess {
  clock: Clock;
  requests: RequestCounts;
  /** Returns the bytes of memory, and the microseconds of processor time since the process started. */
  resources?: () => { memoryBytes: number; cpuMicroseconds: number };
}

const INTERVAL_SECONDS = 10;
/** Seconds over which the rate of events is averaged. */
const RATE_SECONDS = 60;
const SAMPLES = 3_600 / INTERVAL_SECONDS;

const processResources = () => {
  const { user, system } = process.cpuUsage();
  return { memoryBytes: residentBytes(), cpuMicroseconds: user + system };
};

const mean = (sum: number, count: number): number | null => (count === 0 ? null : sum / count);

/** Maximum number of stored event times. */
const MAX_TIMES = 1_000;

/** Returns a quantile of sorted values: the nearest value that occurred. */
const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0;

/** Times of the last events: their number, and their median and 99th percentile in milliseconds. */
export interface EventTimes {
  events: number;
  medianMs: number;
  p99Ms: number;
}

const noAttempts = () => ({ count: 0, milliseconds: 0, slowest: 0 });

/** Samples the activity of a process, and stores the samples of an hour. */
export class LastHour {
  readonly intervalSeconds = INTERVAL_SECONDS;
  readonly #process: Required<SampledProcess>;
  readonly #samples: Sample[] = [];
  #events = 0;
  #lastEvent: number | null = null;
  /** Milliseconds until each of the last events was on the disk. */
  readonly #eventTimes: number[] = [];
  #attempts = noAttempts();
  #hooks: () => Pick<HookCounters, 'delivered' | 'failed'> = () => ({ delivered: 0, failed: 0 });
  #last: { time: number; cpuMicroseconds: number; delivered: number; failed: number };

  constructor(process: SampledProcess) {
    this.#process = { resources: processResources, ...process };
    this.#last = this.#totals();
  }

  /** Starts to sample. @returns a function that stops sampling */
  start(): () => void {
    return this.#process.clock.every(INTERVAL_SECONDS * 1_000, () => this.sample());
  }

  /** Wraps metrics so that events are also counted here. */
  aroundEvents(metrics: EventMetrics): EventMetrics {
    return {
      answered: (...answered) => {
        this.#events += 1;
        this.#lastEvent = Math.floor(this.#process.clock.now() / 1_000);
        const [, , milliseconds] = answered;
        this.#eventTimes.push(milliseconds);
        if (this.#eventTimes.length > MAX_TIMES) this.#eventTimes.shift();
        metrics.answered(...answered);
      },
    };
  }

  /** Returns the events per second over the last minute and the time since the newest sample. */
  eventsPerSecond(): number {
    const current = (this.#process.clock.monotonic() - this.#last.time) / 1_000;
    const intervals = this.#samples.slice(-RATE_SECONDS / INTERVAL_SECONDS);
    const events = intervals.reduce((sum, sample) => sum + sample.eventsPerSecond * INTERVAL_SECONDS, this.#events);
    return events / (RATE_SECONDS + current);
  }

  /** Returns the time of the last event in Unix seconds; null before the first. */
  lastEvent(): number | null {
    return this.#lastEvent;
  }

  /** Returns the times of the last events; null before the first event. */
  eventTimes(): EventTimes | null {
    const sorted = this.#eventTimes.toSorted((a, b) => a - b);
    if (sorted.length === 0) return null;
    return { events: sorted.length, medianMs: quantile(sorted, 0.5), p99Ms: quantile(sorted, 0.99) };
  }

  /** Wraps timers so that attempts are also timed here. */
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

  follow(hooks: () => Pick<HookCounters, 'delivered' | 'failed'>): void {
    this.#hooks = hooks;
    this.#last = { ...this.#last, ...hooks() };
  }

  #totals() {
    const { delivered, failed } = this.#hooks();
    const { cpuMicroseconds } = this.#process.resources();
    return { time: this.#process.clock.monotonic(), cpuMicroseconds, delivered, failed };
  }

  /** Ends the current interval. */
  sample(): void {
    const { clock, requests, resources } = this.#process;
    const [previous, totals] = [this.#last, this.#totals()];
    const seconds = Math.max(0.001, (totals.time - previous.time) / 1_000);
    const counts = requests.take();
    this.#samples.push({
      time: Math.floor(clock.now() / 1_000),
      eventsPerSecond: this.#events / seconds,
      requestsPerSecond: counts.requests / seconds,
      requestMs: mean(counts.milliseconds, counts.requests),
      delivered: totals.delivered - previous.delivered,
      failed: totals.failed - previous.failed,
      deliveryMs: mean(this.#attempts.milliseconds, this.#attempts.count),
      slowestDeliveryMs: this.#attempts.count === 0 ? null : this.#attempts.slowest,
      memoryBytes: resources().memoryBytes,
      cpuShare: (totals.cpuMicroseconds - previous.cpuMicroseconds) / (seconds * 1e6),
    });
    if (this.#samples.length > SAMPLES) this.#samples.shift();
    this.#last = totals;
    this.#events = 0;
    this.#attempts = noAttempts();
  }

  /** Returns the samples, oldest first. */
  samples(): readonly Sample[] {
    return this.#samples;
  }
}

const REQUESTS = 0;
const MILLISECONDS = 1;
/** Microseconds beyond whole milliseconds. Counted only in microseconds, the sum of long requests would overflow. */
const MICROSECONDS = 2;
const COUNTS = 3;

/** Counts requests and their time since the last reading. */
export class RequestCounts {
  readonly #counts: Uint32Array<SharedArrayBuffer>;

  /** @param memory shared memory of another thread's counts (default: new memory) */
  constructor(memory = new SharedArrayBuffer(COUNTS * Uint32Array.BYTES_PER_ELEMENT)) {
    this.#counts = new Uint32Array(memory);
  }

  /** Returns the shared memory, for another thread's counts. */
  get memory(): SharedArrayBuffer {
    return this.#counts.buffer;
  }

  /** Wraps metrics so that requests are also counted here. */
  around(metrics: RequestMetrics): RequestMetrics {
    return {
      route: (method, pattern) => {
        const count = metrics.route(method, pattern);
        return (status, milliseconds) => {
          count(status, milliseconds);
          Atomics.add(this.#counts, REQUESTS, 1);
          const rounded = Math.floor(milliseconds);
          Atomics.add(this.#counts, MILLISECONDS, rounded);
          Atomics.add(this.#counts, MICROSECONDS, Math.round((milliseconds - rounded) * 1_000));
        };
      },
    };
  }

  /** Returns the number of requests since the last call, and the sum of their times. */
  take(): { requests: number; milliseconds: number } {
    return {
      requests: Atomics.exchange(this.#counts, REQUESTS, 0),
      milliseconds:
        Atomics.exchange(this.#counts, MILLISECONDS, 0) + Atomics.exchange(this.#counts, MICROSECONDS, 0) / 1_000,
    };
  }
}

/** Free space of a disk over the last day, to predict when the disk is full. */
export class DiskSpace {
  readonly #clock: Clock;
  readonly #read: () => number | null;
  readonly #samples: { time: number; free: number }[] = [];

  /** @param read returns the free bytes; null if they aren't available */
  constructor(clock: Clock, read: () => number | null) {
    this.#clock = clock;
    this.#read = read;
  }

  /** Starts to measure. @returns a function that stops measuring */
  start(): () => void {
    this.sample();
    return this.#clock.every(SPACE_SECONDS * 1_000, () => this.sample());
  }

  sample(): void {
    const free = this.#read();
    if (free === null) return;
    this.#samples.push({ time: this.#clock.monotonic() / 1_000, free });
    if (this.#samples.length > SPACE_SAMPLES) this.#samples.shift();
  }

  /**
   * Returns the bytes that the disk loses per day, the seconds of measurement, and the seconds until it is full (null if it
   * loses nothing). Returns null in the first hour, in which changes of the WAL's size would hide the growth of the data.
   */
  growth(): { seconds: number; bytesPerDay: number; fullInSeconds: number | null } | null {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (first === undefined || last === undefined || last.time - first.time < MIN_SPACE_SECONDS) return null;
    const seconds = last.time - first.time;
    const perSecond = (first.free - last.free) / seconds;
    return {
      seconds: Math.round(seconds),
      bytesPerDay: Math.round(perSecond * 86_400),
      fullInSeconds: perSecond > 0 ? Math.round(last.free / perSecond) : null,
    };
  }
}

/** Seconds between two measurements of the free space, maximum measurements, and minimum seconds for a prediction. */
const SPACE_SECONDS = 300;
const SPACE_SAMPLES = 86_400 / SPACE_SECONDS + 1;
const MIN_SPACE_SECONDS = 3_600;
