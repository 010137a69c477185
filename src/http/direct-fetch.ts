/** Requests of this process to other servers: the node, a Bitcoin node, another thread. */
import { readUpTo } from '../base/bounded-read.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { TransientError } from '../base/errors.ts';

/** Why a request has no complete answer: no connection, no answer in time, or an answer that broke off or is too long. */
type Failure = 'connection' | 'late' | 'broken' | 'long';

/** Another server can't be reached, or sends no whole answer in time. */
export class UnreachableError extends TransientError {
  override readonly name: string = 'UnreachableError';
  constructor(
    message: string,
    options?: ErrorOptions,
    readonly failure: Failure = 'connection',
  ) {
    super(message, options);
  }
}

/**
 * `fetch` that ignores `HTTP_PROXY` and similar variables and connects to the server directly. Requests between threads
 * carry API keys, and a proxy's answer would be mistaken for the node's. `outgoing.ts` sends requests to
 * URLs that strangers choose, also without a proxy.
 * @throws the errors of `fetch`
 */
export const directFetch = (url: string | URL, init: BunFetchRequestInit = {}): Promise<Response> =>
  // biome-ignore lint/style/noRestrictedGlobals: the only file that may call it
  fetch(url, { ...init, proxy: false });

interface AnswerLimits {
  /** The other server, as errors name it: `the node`. */
  server: string;
  /** Milliseconds until the answer must be complete. */
  timeoutMs: number;
  clock?: Pick<Clock, 'after'>;
}

/** Bytes of the longest answer that is read: a block of 2 MB, or the interface of a large contract. */
export const MAX_ANSWER_BYTES = 20_000_000;

/**
 * Sends a request and reads the whole answer, with any status. Redirects aren't followed.
 * @throws UnreachableError if the answer is missing, late or too long, or breaks off
 */
export async function wholeAnswer(
  url: string | URL,
  init: BunFetchRequestInit,
  { server, timeoutMs, clock = systemClock }: AnswerLimits,
): Promise<Response> {
  const late = new AbortController();
  const cancel = clock.after(timeoutMs, () => late.abort());
  const signal = AbortSignal.any([late.signal, ...(init.signal ? [init.signal] : [])]);
  let isBegun = false;
  try {
    const response = await directFetch(url, { redirect: 'manual', ...init, signal });
    isBegun = true;
    const body = await readUpTo(response.body, MAX_ANSWER_BYTES);
    // A status without a body, such as 204, allows none.
    if (body !== null) return new Response(body.length === 0 ? null : body, response);
  } catch (cause) {
    if (late.signal.aborted) throw new UnreachableError(`${server} did not answer in time`, { cause }, 'late');
    if (isBegun) throw new UnreachableError(`${server}'s answer broke off`, { cause }, 'broken');
    throw new UnreachableError(`${server} can't be reached`, { cause });
  } finally {
    cancel();
  }
  throw new UnreachableError(`${server}'s answer is longer than ${MAX_ANSWER_BYTES} bytes`, {}, 'long');
}
