/** The one way of an event into the index, wherever it comes from: accepted, logged and counted; and how many came lately. */
import { type Clock, systemClock } from '../base/clock.ts';
import { PayloadError } from '../chain/payload-reader.ts';
import { StoreUnavailableError } from '../store/files/store-failure.ts';
import type { Outcome, ReceivedEvent } from '../store/ingest/ingest.ts';
import { UnknownParentError } from '../store/ingest/known-blocks.ts';
import { LogUnavailableError } from '../store/log/shared-log.ts';

export type IntakeEvent =
  /** An accepted event; the name of the log event is public. */
  | { event: 'event_taken'; path: string; ms: number }
  | { event: 'event_repeated'; path: string }
  | { event: 'event_refused'; path: string; reason: string }
  | { event: 'event_failed'; path: string; reason: string }
  /** The node is further on than the data. */
  | { event: 'blocks_missing'; from_height: number; to_height: number; remedy: string };

/**
 * The outcome of an event: a `refused` event can't be understood, a `failed` one could not be applied now. Both come
 * again.
 */
export type EventOutcome = Outcome | 'refused' | 'failed';

/** Metrics of events. */
export interface EventMetrics {
  /** Counts an event that was answered. @param path the path it was posted to */
  answered(path: string, outcome: EventOutcome, milliseconds: number): void;
}

const uncounted: EventMetrics = { answered() {} };

export interface IntakeOptions {
  /** Accepts an event, which is durable when that is done. */
  receive: (event: ReceivedEvent) => Outcome | Promise<Outcome>;
  log: (event: IntakeEvent) => void;
  metrics?: EventMetrics;
  clock?: Clock;
}

/** The result for an event: it is durable, or nothing has changed and `error` says why. */
export type IntakeResult = { outcome: Outcome; error: null } | { outcome: 'refused' | 'failed'; error: unknown };

/** Accepts an event. */
export type Intake = (event: ReceivedEvent) => Promise<IntakeResult>;

const DEEPEST_CAUSE = 10;

/** The message of an error and of its causes on one line. */
export function reasonOf(error: unknown): string {
  const messages: string[] = [];
  for (let at: unknown = error; at !== undefined && at !== null && messages.length < DEEPEST_CAUSE; ) {
    messages.push(at instanceof Error ? at.message : String(at));
    at = at instanceof Error ? at.cause : undefined;
  }
  return messages.join(': ').replace(/\s+/g, ' ');
}

const MISSING_REMEDY =
  'Stop the server, and import a recording that has these blocks, or the journal of another server: stackside import --from URL';

/**
 * Whether an event failed only because the disk or the log that hosts share accepts nothing now. Whoever writes there says so
 * once, and the event comes again.
 */
export const isUnavailable = (error: unknown): error is StoreUnavailableError | LogUnavailableError =>
  error instanceof StoreUnavailableError || error instanceof LogUnavailableError;

/** Makes the intake, which logs and counts the events that it accepts. */
export function eventIntake({ receive, log, metrics = uncounted, clock = systemClock }: IntakeOptions): Intake {
  async function received(event: ReceivedEvent): Promise<IntakeResult> {
    try {
      return { outcome: await receive(event), error: null };
    } catch (error) {
      return { outcome: error instanceof PayloadError ? 'refused' : 'failed', error };
    }
  }

  let missing = '';

  /** Says once which blocks are missing: the node sends its block again and again. */
  function sayMissing(error: unknown): void {
    if (!(error instanceof UnknownParentError) || error.missing === null) return;
    const { from, to } = error.missing;
    if (missing === `${from} to ${to}`) return;
    missing = `${from} to ${to}`;
    log({ event: 'blocks_missing', from_height: from, to_height: to, remedy: MISSING_REMEDY });
  }

  function say({ outcome, error }: IntakeResult, path: string, ms: number): void {
    if (outcome === 'applied') log({ event: 'event_taken', path, ms: Math.round(ms) });
    else if (outcome === 'repeated') log({ event: 'event_repeated', path });
    else if (outcome === 'refused') log({ event: 'event_refused', path, reason: reasonOf(error) });
    else if (!isUnavailable(error)) log({ event: 'event_failed', path, reason: reasonOf(error) });
  }

  return async (event) => {
    const start = clock.monotonic();
    const what = await received(event);
    const ms = clock.monotonic() - start;
    metrics.answered(event.path, what.outcome, ms);
    say(what, event.path, ms);
    sayMissing(what.error);
    return what;
  };
}

/** Seconds over which the rate is averaged. */
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
