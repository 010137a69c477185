/** Requests of this process to other servers: the node, a Bitcoin node, another thread. */
import { readUpTo } from '../base/bounded-read.ts';
import { TransientError } from '../base/errors.ts';

/** Another server can't be reached, or doesn't answer in time. */
export class UnreachableError extends TransientError {
  override readonly name: string = 'UnreachableError';
}

/**
 * `fetch` that ignores `HTTP_PROXY` and similar variables and connects to the server directly. Requests between threads
 * carry API keys, and a proxy's answer would be mistaken for the node's. `outgoing.ts` sends requests to
 * URLs that strangers choose, without a proxy too.
 * @throws what `fetch` throws
 */
export const directFetch = (url: string | URL, init: BunFetchRequestInit = {}): Promise<Response> =>
  // biome-ignore lint/style/noRestrictedGlobals: the only file that may call it
  fetch(url, { ...init, proxy: false });

interface AnswerLimits {
  /** The other server, as errors name it: `the node`. */
  server: string;
  /** Milliseconds until the answer must be complete, unless the request has a signal of its own. */
  timeoutMs: number;
}

/** Bytes of the longest answer that is read: a block of 2 MB, or the interface of a large contract. */
const MOST_BYTES = 20_000_000;

/**
 * Sends a request and reads the whole answer, with any status. Redirects aren't followed.
 * @throws UnreachableError if there is no answer, or it is late, breaks off or is too long
 */
export async function wholeAnswer(
  url: string | URL,
  init: BunFetchRequestInit,
  { server, timeoutMs }: AnswerLimits,
): Promise<Response> {
  let problem = `${server} can't be reached`;
  try {
    const response = await directFetch(url, {
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
      ...init,
    });
    problem = `${server}'s answer broke off`;
    const body = await readUpTo(response.body, MOST_BYTES);
    // A status without a body, such as 204, allows none.
    if (body !== null) return new Response(body.length === 0 ? null : body, response);
  } catch (cause) {
    throw new UnreachableError(problem, { cause });
  }
  throw new UnreachableError(`${server}'s answer is longer than ${MOST_BYTES} bytes`);
}
