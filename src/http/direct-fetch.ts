/** Requests of our own to other servers: the node's, a Bitcoin node's, another thread's. */

/** Another server can't be reached, or doesn't answer in time. */
export class UnreachableError extends Error {
  override readonly name: string = 'UnreachableError';
}

/**
 * `fetch` that connects to the server itself, whatever `HTTP_PROXY` and similar variables say. Requests
 * between threads carry API keys, and a proxy's answer would be taken for the node's. Deliveries of chainhooks are sent by
 * `hooks/delivery/attempt.ts`, which uses no proxy either.
 * @throws what `fetch` throws
 */
export const directFetch = (url: string | URL, init: BunFetchRequestInit = {}): Promise<Response> =>
  // biome-ignore lint/style/noRestrictedGlobals: the one place that may
  fetch(url, { ...init, proxy: false });
