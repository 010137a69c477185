/** Requests that are passed on to another server, or to another thread. */

import { directFetch } from './direct-fetch.ts';
import { type ErrorStatus, problem } from './errors.ts';
import { BodyError, bodyBytes } from './request-body.ts';
import { pathAndQuery } from './request-url.ts';

/** Passes a request on. @throws ApiError where there is no answer */
export type Forward = (request: Request) => Promise<Response>;

/** Says where a request came from that another thread passes on. */
const PEER_HEADER = 'x-stackside-peer';

/**
 * The address that a request came from, as the thread says that passed it on.
 * @param internalToken what the threads of this process know and nobody else
 * @returns null where no thread passed it on, whatever the header says
 */
export function passedPeer(headers: Headers, internalToken: string): string | null {
  const [known, peer] = headers.get(PEER_HEADER)?.split(' ') ?? [];
  return known === internalToken ? (peer ?? '') : null;
}

/** Marks a request that is about to be passed on. */
export function markPeer(headers: Headers, internalToken: string, peer: string): void {
  headers.set(PEER_HEADER, `${internalToken} ${peer}`);
}

const refusal = (status: ErrorStatus, message: string): Response => Response.json(problem(status, message), { status });

/**
 * Passes requests on to a server of ours, as they are.
 * @param bodyLimit the largest body, in bytes
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
      // Nobody reads this answer, and nothing failed here.
      if (request.signal.aborted) return refusal(400, 'The client closed the connection');
      throw error;
    }
  };
