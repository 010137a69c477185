/**
 * Reads that don't go back. Every answer that is made from a snapshot of the index names the height of that snapshot. A
 * request that names a minimum height is answered from a snapshot that has it, or not at all: so a client whose requests
 * reach different threads, processes or hosts never sees an older chain than it has seen.
 *
 * Nothing of an answer depends on the minimum height that a request names: tags, cached answers and `Vary` know nothing of
 * it. Stored copies are used after asking again only, and whoever asks passes the header on.
 */
import { Type } from '@sinclair/typebox';
import type { Clock } from '../base/clock.ts';
import type { Turns } from '../base/turns.ts';
import type { Reader } from '../store/read/index-reader.ts';
import type { Snapshots } from '../store/read/snapshots.ts';
import { ApiError, type ParameterLocation } from './errors.ts';
import { textReader } from './parameters.ts';

/** The header of an answer that names the height of its snapshot. */
export const HEIGHT_HEADER = 'stackside-height';
/** The header of a request that names the minimum height of its answer. */
export const MIN_HEIGHT_HEADER = 'stackside-min-height';

/** The height of a snapshot; 0 before the first block. */
export const Height = Type.Integer({ minimum: 0, examples: [150_000] });
export const MinHeight = Type.Integer({ minimum: 0, maximum: 0xffff_ffff, examples: [1] });

/** The longest that a request waits for its height. */
export const LONGEST_WAIT_MS = 1_000;
/** The most requests of a thread that wait at a time; each keeps its connection and its body. */
export const MOST_WAITING = 1_000;
/** Milliseconds between two looks at the chain's height while requests wait for it: a look costs some microseconds. */
const LOOK_MS = 10;

const RETRY_AFTER_SECONDS = 1;

const place: ParameterLocation = { place: 'headers', path: [MIN_HEIGHT_HEADER] };
const readHeight = textReader(MinHeight);

/** The height that a request asks for can't be read here yet. */
class HeightNotReachedError extends ApiError {
  override readonly name = 'HeightNotReachedError';
  override readonly headers = { 'retry-after': String(RETRY_AFTER_SECONDS) };
  constructor(asked: number, readable: number, why: string) {
    const message = `${place.place}/${MIN_HEIGHT_HEADER} is ${asked}, but the highest block here is ${readable}: ${why}`;
    super(503, message, 'HEIGHT_NOT_REACHED');
  }
}

interface HeightsOptions {
  snapshots: Snapshots;
  clock: Pick<Clock, 'monotonic' | 'after'>;
  /** Requests that waited go on in the turns of this thread, as if they came now. */
  turns: Turns;
}

/** The height that a request asks for; 0 where it asks for none. @throws ParameterError */
function minimumHeight({ headers }: Request): number {
  const text = headers.get(MIN_HEIGHT_HEADER);
  return text === null ? 0 : (readHeight(text, place) as number);
}

/** Reads that don't go back, for the requests of one thread. */
export class Heights {
  readonly #snapshots: Snapshots;
  readonly #clock: HeightsOptions['clock'];
  readonly #turns: Turns;
  readonly #waiting: WaitingRoom;

  constructor({ snapshots, clock, turns }: HeightsOptions) {
    this.#snapshots = snapshots;
    this.#clock = clock;
    this.#turns = turns;
    this.#waiting = waitingRoom(() => snapshots.read(async (read) => read.height()), clock);
  }

  /**
   * Runs a request on one snapshot, which is as high as the request asks. Waits for it where there is none.
   * @param noted gets the height of the snapshot
   * @throws ParameterError for a height that is none, HeightNotReachedError, and what `Snapshots.read` throws
   */
  read<T>(request: Request, noted: NotedHeight, answer: (read: Reader) => Promise<T>): Promise<T> {
    const minimum = minimumHeight(request);
    if (minimum > 0) return this.#readOnceHigh(request, minimum, noted, answer);
    return this.#snapshots.read((read) => {
      noted.height = read.height();
      return answer(read);
    });
  }

  async #readOnceHigh<T>(
    { signal }: Request,
    minimum: number,
    noted: NotedHeight,
    answer: (read: Reader) => Promise<T>,
  ): Promise<T> {
    const deadline = this.#clock.monotonic() + LONGEST_WAIT_MS;
    for (;;) {
      const found = await this.#snapshots.read(async (read) => {
        noted.height = read.height();
        return noted.height < minimum ? null : { answer: await answer(read) };
      });
      if (found !== null) return found.answer;
      const refused = await this.#waiting.wait(minimum, deadline, signal);
      if (refused !== null) throw new HeightNotReachedError(minimum, noted.height ?? 0, refused);
      await this.#turns.next();
    }
  }
}

/** The height that the answer to one request is made from. */
export class NotedHeight {
  /** The height of the last snapshot that was read; null before there is one. */
  height: number | null = null;

  /** Names the height in the answer, whatever it says. */
  named(response: Response): Response {
    if (this.height !== null) response.headers.set(HEIGHT_HEADER, String(this.height));
    return response;
  }
}

const TOO_LATE = `it did not come within ${LONGEST_WAIT_MS / 1000} second; ask again, or ask another server`;
const TOO_MANY = `${MOST_WAITING} requests wait for a higher block already; ask again, or ask another server`;

interface Waiter {
  minimum: number;
  /** When the request is refused, on the monotonic clock. */
  deadline: number;
  /** @param refused why the request waits no longer; null where it may look again */
  end(refused: string | null): void;
}

type WaitingRoom = ReturnType<typeof waitingRoom>;

/** Where requests wait for a height. The chain is looked at once for all of them, and only while there are any. */
function waitingRoom(tipHeight: () => Promise<number>, clock: HeightsOptions['clock']) {
  const waiters = new Set<Waiter>();
  /** Ends the wait for the next look; null while nobody waits for one. */
  let cancel: (() => void) | null = null;

  function lookLater(): void {
    cancel ??= clock.after(LOOK_MS, look);
  }

  function leave(waiter: Waiter): void {
    waiters.delete(waiter);
    if (waiters.size > 0) return;
    cancel?.();
    cancel = null;
  }

  async function look(): Promise<void> {
    cancel = null;
    // Where the index can't be read, each request reads by itself, and fails for that reason.
    const height = await tipHeight().catch(() => null);
    const now = clock.monotonic();
    for (const { minimum, deadline, end } of [...waiters]) {
      if (height !== null && height >= minimum) end(null);
      else if (now >= deadline) end(TOO_LATE);
      else if (height === null) end(null);
    }
    if (waiters.size > 0) lookLater();
  }

  return {
    /**
     * Resolves once the height may be there.
     * @param signal of a client that may go away
     * @returns why it can't be waited for any longer; null where it is worth a look
     */
    wait(minimum: number, deadline: number, signal: AbortSignal): Promise<string | null> {
      if (waiters.size >= MOST_WAITING) return Promise.resolve(TOO_MANY);
      const { promise, resolve } = Promise.withResolvers<string | null>();
      const left = () => waiter.end(TOO_LATE);
      const waiter: Waiter = {
        minimum,
        deadline,
        end(refused) {
          leave(waiter);
          signal.removeEventListener('abort', left);
          resolve(refused);
        },
      };
      waiters.add(waiter);
      signal.addEventListener('abort', left, { once: true });
      if (signal.aborted) left();
      lookLater();
      return promise;
    },
  };
}
