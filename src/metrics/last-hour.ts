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

export type LastHour = ReturnType<typeof lastHour>;

/** Samples the activity of a process, and stores the samples of an hour. */
export function lastHour({ clock, requests, resources = processResources }: SampledProcess) {
  const samples: Sample[] = [];
  let events = 0;
  let lastEvent: number | null = null;
  /** Milliseconds until each of the last events was on the disk. */
  const eventTimes: number[] = [];
  let attempts = noAttempts();
  let hooks: () => Pick<HookCounters, 'delivered' | 'failed'> = () => ({ delivered: 0, failed: 0 });
  const readTotals = () => {
    const { delivered, failed } = hooks();
    return { time: clock.monotonic(), cpuMicroseconds: resources().cpuMicroseconds, delivered, failed };
  };
  let last = readTotals();

  /** Ends the current interval. */
  function sample(): void {
    const [previous, totals] = [last, readTotals()];
    const seconds = Math.max(0.001, (totals.time - previous.time) / 1_000);
    const counts = requests.take();
    samples.push({
      time: Math.floor(clock.now() / 1_000),
      eventsPerSecond: events / seconds,
      requestsPerSecond: counts.requests / seconds,
      requestMs: mean(counts.milliseconds, counts.requests),
      delivered: totals.delivered - previous.delivered,
      failed: totals.failed - previous.failed,
      deliveryMs: mean(attempts.milliseconds, attempts.count),
      slowestDeliveryMs: attempts.count === 0 ? null : attempts.slowest,
      memoryBytes: resources().memoryBytes,
      cpuShare: (totals.cpuMicroseconds - previous.cpuMicroseconds) / (seconds * 1e6),
    });
    if (samples.length > SAMPLES) samples.shift();
    last = totals;
    events = 0;
    attempts = noAttempts();
  }

  return {
    intervalSeconds: INTERVAL_SECONDS,
    sample,
    /** Returns the samples, oldest first. */
    samples: (): readonly Sample[] => samples,
    /** Starts to sample. @returns a function that stops sampling */
    start: (): (() => void) => clock.every(INTERVAL_SECONDS * 1_000, sample),

    /** Wraps metrics so that events are also counted here. */
    aroundEvents: (metrics: EventMetrics): EventMetrics => ({
      answered(...answered) {
        events += 1;
        lastEvent = Math.floor(clock.now() / 1_000);
        const [, , milliseconds] = answered;
        eventTimes.push(milliseconds);
        if (eventTimes.length > MAX_TIMES) eventTimes.shift();
        metrics.answered(...answered);
      },
    }),

    /** Returns the events per second over the last minute and the time since the newest sample. */
    eventsPerSecond(): number {
      const current = (clock.monotonic() - last.time) / 1_000;
      const intervals = samples.slice(-RATE_SECONDS / INTERVAL_SECONDS);
      const recent = intervals.reduce((sum, { eventsPerSecond }) => sum + eventsPerSecond * INTERVAL_SECONDS, events);
      return recent / (RATE_SECONDS + current);
    },

    /** Returns the time of the last event in Unix seconds; null before the first. */
    lastEvent: (): number | null => lastEvent,

    /** Returns the times of the last events; null before the first event. */
    eventTimes(): EventTimes | null {
      const sorted = eventTimes.toSorted((a, b) => a - b);
      if (sorted.length === 0) return null;
      return { events: sorted.length, medianMs: quantile(sorted, 0.5), p99Ms: quantile(sorted, 0.99) };
    },

    /** Wraps timers so that attempts are also timed here. */
    aroundTimers: (timers: HookTimers): HookTimers => ({
      evaluated: timers.evaluated,
      attempted(milliseconds) {
        timers.attempted(milliseconds);
        attempts.count += 1;
        attempts.milliseconds += milliseconds;
        attempts.slowest = Math.max(attempts.slowest, milliseconds);
      },
    }),

    follow(counters: typeof hooks): void {
      hooks = counters;
      last = { ...last, ...hooks() };
    },
  };
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

/** Seconds between two measurements of the free space, maximum measurements, and minimum seconds for a prediction. */
const SPACE_SECONDS = 300;
const SPACE_SAMPLES = 86_400 / SPACE_SECONDS + 1;
const MIN_SPACE_SECONDS = 3_600;

/**
 * Measures the free space of a disk over the last day, to predict when the disk is full.
 * @param read returns the free bytes; null if they aren't available
 */
export function diskSpace(clock: Clock, read: () => number | null) {
  const samples: { time: number; free: number }[] = [];

  function sample(): void {
    const free = read();
    if (free === null) return;
    samples.push({ time: clock.monotonic() / 1_000, free });
    if (samples.length > SPACE_SAMPLES) samples.shift();
  }

  return {
    sample,
    /** Starts to measure. @returns a function that stops measuring */
    start(): () => void {
      sample();
      return clock.every(SPACE_SECONDS * 1_000, sample);
    },

    /**
     * Returns the bytes that the disk loses per day, the seconds of measurement, and the seconds until it is full (null if it
     * loses nothing). Returns null in the first hour, in which changes of the WAL's size would hide the growth of the data.
     */
    growth(): { seconds: number; bytesPerDay: number; fullInSeconds: number | null } | null {
      const [first, newest] = [samples[0], samples.at(-1)];
      if (first === undefined || newest === undefined || newest.time - first.time < MIN_SPACE_SECONDS) return null;
      const seconds = newest.time - first.time;
      const perSecond = (first.free - newest.free) / seconds;
      return {
        seconds: Math.round(seconds),
        bytesPerDay: Math.round(perSecond * 86_400),
        fullInSeconds: perSecond > 0 ? Math.round(newest.free / perSecond) : null,
      };
    },
  };
}
export type DiskSpace = ReturnType<typeof diskSpace>;
