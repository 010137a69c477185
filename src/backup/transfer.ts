/** Requests to servers that hold backups or journals. What may pass is tried again, each time after a longer wait. */
import { type Clock, pause } from '../base/clock.ts';
import { OperatorError, PassingError } from '../base/errors.ts';
import { directFetch } from '../http/direct-fetch.ts';

/** Milliseconds before each further try. */
const WAITS_MS = [1_000, 2_000, 4_000, 8_000, 16_000];
/** Milliseconds after which a server that sends nothing, or takes nothing, is given up. */
const STALL_MS = 60_000;
/** Bytes of an error's body that are read. */
const LONGEST_ERROR = 64 * 1024;

const OK = 200;
/** Statuses that may be others a moment later: too early, too many requests, and all errors of the server. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429]);
const SERVER_ERRORS = 500;

/** What a server answered that is no success. */
export interface Refusal {
  status: number;
  /** The beginning of the answer. */
  text: string;
}

export interface Transfer {
  /** The name of the place in messages. */
  location: string;
  clock: Clock;
  /** Whether redirections are followed; a signed request is for one server alone. */
  redirect: 'follow' | 'manual';
  /** Headers of each request. */
  headers?: Readonly<Record<string, string>>;
  /** The error of a refusal that lasts; null where it says that there is no such file. */
  refused: (refusal: Refusal) => OperatorError | null;
}

/** A try that failed, and may succeed when it is repeated. */
class TryAgain extends Error {
  override readonly name = 'TryAgain';
}

/** Gives a request up once nothing has come for a while. @returns its signal, what says that something came, and its end */
function stallGuard({ after }: Clock) {
  const late = new AbortController();
  const begin = () => after(STALL_MS, () => late.abort(new DOMException('nothing came', 'TimeoutError')));
  let cancel = begin();
  return {
    signal: late.signal,
    heard(): void {
      cancel();
      cancel = begin();
    },
    end: () => cancel(),
  };
}
type StallGuard = ReturnType<typeof stallGuard>;

/** A body, read no further than `most` bytes. @returns null for a longer one */
async function bodyOf(response: Response, most: number, guard: StallGuard): Promise<Uint8Array | null> {
  const sink = new Bun.ArrayBufferSink();
  let length = 0;
  for await (const chunk of response.body ?? []) {
    guard.heard();
    length += chunk.length;
    if (length > most) return null;
    sink.write(chunk);
  }
  return new Uint8Array(sink.end() as ArrayBuffer);
}

/** The answer to one try. @throws TryAgain where the connection failed, or the server may answer another time */
async function tried<T>(
  url: string,
  init: BunFetchRequestInit,
  { clock, redirect, headers = {}, refused }: Transfer,
  consume: (response: Response, guard: StallGuard) => Promise<T>,
): Promise<T | null> {
  const guard = stallGuard(clock);
  try {
    const response = await directFetch(url, {
      ...init,
      redirect,
      // The bytes of the file itself: a server that knows what zstd is may call it an encoding.
      decompress: false,
      headers: { 'accept-encoding': 'identity', ...headers },
      signal: guard.signal,
    });
    if (response.status === OK) return await consume(response, guard);
    const text = new TextDecoder().decode((await bodyOf(response, LONGEST_ERROR, guard)) ?? undefined);
    const { status } = response;
    if (status >= SERVER_ERRORS || PASSING.has(status)) throw new TryAgain(`it answered ${status}`);
    const refusal = refused({ status, text });
    if (refusal !== null) throw refusal;
    return null;
  } catch (error) {
    if (error instanceof OperatorError || error instanceof TryAgain) throw error;
    // Whatever the connection failed with, the next one may not.
    throw new TryAgain('the connection failed', { cause: error });
  } finally {
    guard.end();
  }
}

/**
 * Asks again until there is an answer that lasts.
 * @throws OperatorError for a refusal; PassingError where the server did not answer in any of the tries
 */
async function persistently<T>({ location, clock }: Transfer, attempt: () => Promise<T>): Promise<T> {
  for (const wait of [...WAITS_MS, null]) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof TryAgain)) throw error;
      if (wait === null) {
        throw new PassingError(
          `${location} can't be reached: ${error.message}.`,
          'Run the command again once the server answers; a restore or an import goes on where it broke off.',
          { cause: error },
        );
      }
      await pause(clock, wait);
    }
  }
  throw new Error('the last try ends the loop');
}

/** Bytes that a file may have, and those that it has at least. */
export interface SizeBounds {
  least: number;
  most: number;
}

/**
 * Gets a file.
 * @param url made anew for each try, since signed URLs expire
 * @returns null where there is none
 * @throws OperatorError, PassingError
 */
export function getFile(
  transfer: Transfer,
  url: () => string,
  { least, most }: SizeBounds,
): Promise<Uint8Array | null> {
  return persistently(transfer, () =>
    tried(url(), {}, transfer, async (response, guard) => {
      const bytes = await bodyOf(response, most, guard);
      // A proxy may end a body as if it were whole when it loses the connection to its server.
      if (bytes !== null && bytes.length < least) throw new TryAgain(`it sent ${bytes.length} of ${least} bytes`);
      if (bytes !== null) return bytes;
      throw new OperatorError(
        `${transfer.location} sends more than the ${most} bytes that it may send.`,
        'Copy the backup once more from where it was made, or take another.',
      );
    }),
  );
}

/** Puts a file. @throws OperatorError, PassingError */
export async function putFile(transfer: Transfer, url: () => string, bytes: Uint8Array): Promise<void> {
  const request: BunFetchRequestInit = { method: 'PUT', body: bytes as Uint8Array<ArrayBuffer> };
  const done = await persistently(transfer, () => tried(url(), request, transfer, async () => true));
  if (done !== null) return;
  throw new OperatorError(`Nothing can be written to ${transfer.location}.`, 'Check the address.');
}
