/**
 * Monotonic reads. Every response that is made from a snapshot of the index names the snapshot's height. A request with a
 * minimum height is answered from a snapshot that has this height, or refused. So a client whose requests reach different
 * threads, processes or hosts never sees an older chain than before.
 *
 * A response doesn't depend on the minimum height: ETags, cached answers and `Vary` ignore it. HTTP caches must revalidate
 * stored copies, and forward the header when they do.
 */
import { Type } from '@sinclair/typebox';
import type { Clock } from '../base/clock.ts';
import type { Turns } from '../base/turns.ts';
import type { Reader } from '../store/read/index-reader.ts';
import type { ReadNow, Snapshots } from '../store/read/snapshots.ts';
import { ApiError, type ParameterLocation } from './errors.ts';
import { textReader } from './parameters.ts';

export const HEIGHT_HEADER = 'stackside-height';
export const MIN_HEIGHT_HEADER = 'stackside-min-height';

/** The height of a snapshot; 0 before the first block. */
export const Height = Type.Integer({ minimum: 0, examples: [150_000] });
export const MinHeight = Type.Integer({ minimum: 0, maximum: 0xffff_ffff, examples: [1] });

export const MAX_WAIT_MS = 1_000;
/** Maximum number of waiting requests of a thread; each holds its connection and body. */
export const MAX_WAITING = 1_000;
/** Milliseconds between polls of the tip's height while requests wait; a poll takes some microseconds. */
const POLL_MS = 10;

const RETRY_AFTER_SECONDS = 1;

const parameter: ParameterLocation = { location: 'headers', path: [MIN_HEIGHT_HEADER] };
const readMinimum = textReader(MinHeight);

/** The error for a minimum height that can't be read here yet. */
function notReached(requested: number, readable: number, why: string): ApiError {
  const message = `${parameter.location}/${MIN_HEIGHT_HEADER} is ${requested}, but the highest block here is ${readable}: ${why}`;
  return new ApiError(503, message, 'HEIGHT_NOT_REACHED', { headers: { 'retry-after': String(RETRY_AFTER_SECONDS) } });
}

interface HeightsOptions {
  snapshots: Snapshots;
  clock: Pick<Clock, 'monotonic' | 'after'>;
  /** Requests that waited continue in the turns of this thread, as if they had just arrived. */
  turns: Turns;
}

/** The minimum height of a request; 0 if it has none. @throws ParameterError */
export function minimumHeight({ headers }: Request): number {
  const text = headers.get(MIN_HEIGHT_HEADER);
  return text === null ? 0 : (readMinimum(text, parameter) as number);
}

/** Receives the height of the snapshot that a request is answered from. */
export interface SnapshotHeight {
  /** Height of the last snapshot that was read; null before the first. */
  height: number | null;
}

export type Heights = ReturnType<typeof monotonicReads>;

/** Makes the monotonic reads for the requests of one thread. */
export function monotonicReads({ snapshots, clock, turns }: HeightsOptions) {
  const waiting = waitingRoom(() => snapshots.read((read) => read.height()), clock);
  return {
    /**
     * Runs a request without a minimum height on the newest snapshot, in one turn.
     * @param info receives the height of the snapshot
     * @throws the errors of `Snapshots.read`
     */
    read: <T>(info: SnapshotHeight, answer: (read: Reader) => ReadNow<T>): T =>
      snapshots.read((read) => {
        info.height = read.height();
        return answer(read);
      }),

    /**
     * Runs a request on a snapshot with its minimum height, and waits for such a snapshot if there is none.
     * @param info receives the height of the snapshot
     * @throws ParameterError for an invalid height, ApiError if the height isn't reached in time, and the errors of
     *   `Snapshots.readLong`
     */
    async readLong<T>(request: Request, info: SnapshotHeight, answer: (read: Reader) => Promise<T>): Promise<T> {
      const minimum = minimumHeight(request);
      const deadline = clock.monotonic() + MAX_WAIT_MS;
      for (;;) {
        const result = await snapshots.readLong(async (read) => {
          info.height = read.height();
          return info.height < minimum ? null : { answer: await answer(read) };
        });
        if (result !== null) return result.answer;
        const outcome = await waiting.wait(minimum, deadline, request.signal);
        if (outcome !== 'reached') throw notReached(minimum, info.height ?? 0, refusals[outcome]);
        await turns.next();
      }
    },
  };
}

/** How a wait for a height ended: the height may have been reached, the time was over, or too many wait already. */
type WaitOutcome = 'reached' | 'late' | 'full';

const refusals: Readonly<Record<Exclude<WaitOutcome, 'reached'>, string>> = {
  late: `it did not arrive within ${MAX_WAIT_MS / 1000} second; retry, or use another server`,
  full: `${MAX_WAITING} requests already wait for a higher block; retry, or use another server`,
};

interface Waiter {
  minimum: number;
  /** Time at which the request is refused, on the monotonic clock. */
  deadline: number;
  end(outcome: WaitOutcome): void;
}

export type WaitingRoom = ReturnType<typeof waitingRoom>;

/**
 * Requests that wait for a height. One poll of the tip serves all of them, and it runs only while there are any.
 * @param maxWaiting maximum number of waiting requests
 */
export function waitingRoom(tipHeight: () => number, clock: HeightsOptions['clock'], maxWaiting = MAX_WAITING) {
  const waiters = new Set<Waiter>();
  /** Cancels the next poll; null while no request waits. */
  let cancel: (() => void) | null = null;

  function pollLater(): void {
    cancel ??= clock.after(POLL_MS, poll);
  }

  function leave(waiter: Waiter): void {
    waiters.delete(waiter);
    if (waiters.size > 0) return;
    cancel?.();
    cancel = null;
  }

  /** Null if the index can't be read: each request then tries by itself, and fails with that reason. */
  function readHeight(): number | null {
    try {
      return tipHeight();
    } catch {
      return null;
    }
  }

  function poll(): void {
    cancel = null;
    const height = readHeight();
    const now = clock.monotonic();
    for (const { minimum, deadline, end } of [...waiters]) {
      if (height !== null && height >= minimum) end('reached');
      else if (now >= deadline) end('late');
      else if (height === null) end('reached');
    }
    if (waiters.size > 0) pollLater();
  }

  return {
    /**
     * Resolves once the height may have been reached, even if the index can't be read, or at the deadline.
     * @param deadline on the monotonic clock
     * @param signal aborts when the client disconnects, which ends the wait
     */
    wait(minimum: number, deadline: number, signal: AbortSignal): Promise<WaitOutcome> {
      if (waiters.size >= maxWaiting) return Promise.resolve('full');
      const { promise, resolve } = Promise.withResolvers<WaitOutcome>();
      const onAbort = () => waiter.end('late');
      const waiter: Waiter = {
        minimum,
        deadline,
        end(outcome) {
          leave(waiter);
          signal.removeEventListener('abort', onAbort);
          resolve(outcome);
        },
      };
      waiters.add(waiter);
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
      pollLater();
      return promise;
    },
  };
}
