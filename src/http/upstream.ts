/** Passing requests on to another HTTP server, and its answers back, as a proxy does (RFC 9110, section 7.6). */
import { directFetch } from './direct-fetch.ts';
import { ApiError } from './errors.ts';
import { BodyError, bodyBytes } from './request-body.ts';

/** Milliseconds until another server must have begun to answer. */
export const UPSTREAM_TIMEOUT_MS = 60_000;

/** Hop-by-hop headers, which a proxy doesn't forward (RFC 9110, section 7.6.1). */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];
/** Request headers that are not forwarded: host and length are set anew, and cookies are meant for this server. */
const NOT_FORWARDED = [...HOP_BY_HOP, 'host', 'content-length', 'cookie', 'expect'];

export interface UpstreamOptions {
  /** The other server, as errors name it: `The node`. */
  name: string;
  /** The server's URL, without a slash at its end. */
  url: string;
  timeoutMs?: number;
  /** Further request headers that are not forwarded. */
  withheld?: readonly string[];
  /** What this process calls itself in `Via`, by which a request that comes back is noticed. */
  via: string;
}

/** Another server. */
export interface Upstream {
  /**
   * Sends a request on. The answer has begun when this resolves, and is streamed.
   * @param path with the query; it follows the server's URL
   * @throws ApiError 502, 504
   */
  ask(path: string, request: Request, body: Uint8Array<ArrayBuffer> | null): Promise<Response>;
  /** Reads an answer to its end. @throws ApiError 502, 504 */
  textOf(response: Response): Promise<string>;
}

/** Headers without some, and without those that the sender declares as hop-by-hop. */
export function headersWithout(headers: Headers, names: readonly string[]): Headers {
  const left = new Headers(headers);
  for (const name of [...names, ...(headers.get('connection')?.split(',') ?? [])]) {
    // What a neighbour names may be no header's name.
    if (/^[\w-]+$/.test(name.trim())) left.delete(name.trim());
  }
  return left;
}

/** An answer as it is passed back. @param removed further headers to leave out */
export const passedBack = ({ body, status, headers }: Response, removed: readonly string[] = []): Response =>
  new Response(body, { status, headers: headersWithout(headers, [...HOP_BY_HOP, ...removed]) });

/**
 * The body of a request to pass on; null for a method without one.
 * @param limit in bytes
 * @throws ApiError where it is too large or incomplete
 */
export async function bodyToPassOn(request: Request, limit: number): Promise<Uint8Array<ArrayBuffer> | null> {
  if (request.method === 'GET' || request.method === 'HEAD') return null;
  try {
    return await bodyBytes(request, limit);
  } catch (error) {
    if (!(error instanceof BodyError)) throw error;
    const words = error.reason === 'too_large' ? 'Request body is too large' : 'Request body is not complete';
    throw new ApiError(error.status, words);
  }
}

const isTimeout = (error: unknown): boolean => error instanceof Error && error.name === 'TimeoutError';

/** Whether this process has passed a request on before. */
const wasHere = (headers: Headers, via: string): boolean =>
  (headers.get('via') ?? '').split(',').some((hop) => hop.trim().split(/\s+/)[1] === via);

/** @returns what asks another server */
export function upstream({
  name,
  url,
  timeoutMs = UPSTREAM_TIMEOUT_MS,
  withheld = [],
  via,
}: UpstreamOptions): Upstream {
  const notForwarded = [...NOT_FORWARDED, ...withheld];
  const refusal = (cause: unknown): ApiError =>
    isTimeout(cause)
      ? new ApiError(504, `${name} did not answer in time`, null, { cause })
      : new ApiError(502, `${name} can not be reached`, null, { cause });

  return {
    async ask(path, request, body) {
      if (wasHere(request.headers, via)) throw new ApiError(502, `${name} passes requests back to this server`);
      const headers = headersWithout(request.headers, notForwarded);
      headers.append('via', `1.1 ${via}`);
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(new DOMException('no answer', 'TimeoutError')), timeoutMs);
      try {
        return await directFetch(url + path, {
          method: request.method,
          headers,
          body: body === null || body.length === 0 ? null : body,
          redirect: 'manual',
          // The bytes pass as they are on the wire, since the client is told their encoding.
          decompress: false,
          signal: AbortSignal.any([late.signal, request.signal]),
        });
      } catch (error) {
        throw refusal(error);
      } finally {
        // A body may take longer than its beginning.
        clearTimeout(timer);
      }
    },
    async textOf(response) {
      try {
        return await response.text();
      } catch (error) {
        throw refusal(error);
      }
    },
  };
}
