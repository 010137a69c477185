/** Forwards requests to another server, or to another thread. */

import { directFetch } from './direct-fetch.ts';
import { type ErrorStatus, problem } from './errors.ts';
import { BodyError, bodyBytes } from './request-body.ts';
import { pathAndQuery } from './request-url.ts';

/** Forwards a request. @throws ApiError if there is no response */
export type Forward = (request: Request) => Promise<Response>;

/** Header with the client's address of a request that another thread forwards. */
const PEER_HEADER = 'x-stackside-peer';

/**
 * Returns the client's address of a forwarded request.
 * @param internalToken the secret of this process's threads
 * @returns null if no thread of this process forwarded the request, even if the header is set
 */
export function passedPeer(headers: Headers, internalToken: string): string | null {
  const [token, peer] = headers.get(PEER_HEADER)?.split(' ') ?? [];
  return token === internalToken ? (peer ?? '') : null;
}

/** Adds the client's address to a request that is about to be forwarded. */
export function markPeer(headers: Headers, internalToken: string, peer: string): void {
  headers.set(PEER_HEADER, `${internalToken} ${peer}`);
}

const refusal = (status: ErrorStatus, message: string): Response => Response.json(problem(status, message), { status });

/**
 * Forwards requests, unchanged, to another server of this process.
 * @param bodyLimit maximum body size in bytes
 */
export const forwardTo =
  (origin: string, bodyLimit: number): Forward =>
  async (request) => {
    const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
    try {
      const response = await directFetch(origin + pathAndQuery(request.url), {
        method: request.method,
        headers: request.headers,
        body: hasBody ? await bodyBytes(request, bodyLimit) : null,
        redirect: 'manual',
        decompress: false,
        signal: request.signal,
      });
      return new Response(response.body, { status: response.status, headers: response.headers });
    } catch (error) {
      if (error instanceof BodyError) return refusal(error.status, error.message);
      // The client is gone, so nobody reads this response, and nothing failed here.
      if (request.signal.aborted) return refusal(400, 'The client closed the connection');
      throw error;
    }
  };
