/** Requests of this process to other servers: the node, a Bitcoin node, another thread. */
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
