/**
 * Posts events like a node: one at a time, each repeatedly until the observer answers with status 200. A second observer,
 * such as another Stackside, doesn't delay the node.
 */
import { type Clock, pause, systemClock } from '../base/clock.ts';
import { backoff } from '../base/service.ts';
import { wholeAnswer } from '../http/direct-fetch.ts';

export interface NodeEvent {
  /** Path of the request, such as `/new_block`. */
  readonly path: string;
  /** Compact JSON. */
  readonly body: string;
  /** Simulated time at which the node sent the event, in Unix milliseconds. */
  readonly time: number;
}

export function nodeEvent(path: string, body: unknown, time: number): NodeEvent {
  return { path, body: JSON.stringify(body), time };
}

export interface PostOptions {
  /** Ends the posting: the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The clock for waits between attempts. Default: the system's. */
  readonly clock?: Clock | undefined;
  /** Called after each failed attempt, before the wait. */
  readonly onRetry?: ((event: NodeEvent, cause: unknown, waitMs: number) => void) | undefined;
}

/** Timeout of an attempt in milliseconds; a node's default is 1,000. */
const TIMEOUT_MS = 60_000;
const FIRST_WAIT_MS = 100;

/**
 * Posts events like a node: one at a time, each repeatedly until the observer answers with status 200.
 *
 * @param eventsUrl URL of the observer, such as `http://127.0.0.1:3700`
 * @returns number of posted events
 */
export async function postEvents(
  events: Iterable<NodeEvent>,
  eventsUrl: string,
  options: PostOptions = {},
): Promise<number> {
  let count = 0;
  for (const event of events) {
    await postEvent(event, eventsUrl, options);
    count += 1;
  }
  return count;
}

/** Posts one event; see {@link postEvents}. */
export async function postEvent(event: NodeEvent, eventsUrl: string, options: PostOptions = {}): Promise<void> {
  const { signal, onRetry, clock = systemClock } = options;
  const url = new URL(event.path, eventsUrl);
  for (let failures = 1; ; failures++) {
    signal?.throwIfAborted();
    const cause = await attempt(url, event.body, signal);
    if (cause === undefined) return;
    signal?.throwIfAborted();
    // A node adds up to 99 ms of jitter, which a single node doesn't need.
    const waitMs = backoff(failures, { firstMs: FIRST_WAIT_MS, maxMs: TIMEOUT_MS * 3, random: () => 0.5 });
    onRetry?.(event, cause, waitMs);
    await pause(clock, waitMs, signal);
  }
}

/**
 * Makes one attempt. Any status except 200 is a failure, including 204. @returns undefined, or the cause of the failure
 */
async function attempt(url: URL, body: string, signal: AbortSignal | undefined): Promise<unknown> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body, signal: signal ?? null };
  try {
    const response = await wholeAnswer(url, init, { server: 'the observer', timeoutMs: TIMEOUT_MS });
    if (response.status === 200) return undefined;
    return new Error(`status ${response.status}: ${await response.text()}`);
  } catch (error) {
    return error;
  }
}

export type ObserverEvent =
  /** The observer doesn't accept an event. The node repeats the event until it does. */
  { event: 'observer_refuses'; url: string; path: string; reason: string };

export interface ObserverOptions {
  /** URL of the observer, such as `http://127.0.0.1:3701`. */
  url: string;
  clock: Clock;
  log: (event: ObserverEvent) => void;
}

/**
 * Maximum number of events that wait for an observer. If there are more, the oldest are lost, as with a node that
 * doesn't repeat events.
 */
const MAX_WAITING = 1_000;

/** Makes a function that posts events to an observer. @param signal ends the posting */
export function observer({ url, clock, log }: ObserverOptions, signal: AbortSignal) {
  const queue: NodeEvent[] = [];
  let isPosting = false;
  let refusedEvent: NodeEvent | null = null;

  async function post(): Promise<void> {
    isPosting = true;
    for (let event = queue.shift(); event !== undefined && !signal.aborted; event = queue.shift()) {
      await postEvent(event, url, {
        signal,
        clock,
        onRetry(retried, cause) {
          // Logged once for each time that the observer stops accepting.
          if (refusedEvent === null) log({ event: 'observer_refuses', url, path: retried.path, reason: String(cause) });
          refusedEvent = retried;
        },
      }).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
      if (refusedEvent !== event) refusedEvent = null;
    }
    isPosting = false;
  }

  return (event: NodeEvent): void => {
    queue.push(event);
    if (queue.length > MAX_WAITING) queue.shift();
    if (!isPosting) void post();
  };
}
