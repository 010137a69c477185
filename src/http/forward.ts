/** Forwards requests to another thread, or as a reverse proxy to another server (RFC 9110, section 7.6). */
import { directFetch } from './direct-fetch.ts';
import { ApiError, type ErrorStatus, problem } from './errors.ts';
import { BodyError, bodyBytes } from './request-body.ts';
import { pathAndQuery } from './request-url.ts';

export const MAX_PROXY_BODY_BYTES = 10_000_000;

/** Timeout in milliseconds until the other server's response begins. */
const UPSTREAM_TIMEOUT_MS = 60_000;

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
/** Request headers that are not forwarded: host and length are set again; cookies and keys are for this server only. */
const NOT_FORWARDED = [
  ...HOP_BY_HOP,
  ...['host', 'content-length', 'expect'],
  ...['cookie', 'x-api-key', 'x-chainhook-consumer', 'x-stackside-peer'],
];
/** Response headers that would let the other server change a browser's storage or policies for this server's origin. */
const ORIGIN_HEADERS = [
  'set-cookie',
  'set-cookie2',
  'clear-site-data',
  'strict-transport-security',
  'service-worker-allowed',
];
/** The statuses that a `Response` can have. */
const [MIN_STATUS, MAX_STATUS] = [200, 599];

interface UpstreamOptions {
  /** The other server, as errors name it: `The node`. */
  name: string;
  /** The server's URL, without a slash at its end. */
  url: string;
  /** The path of this server that is mapped to the URL, without a slash at its end. */
  prefix: string;
  timeoutMs?: number | undefined;
  /** Whether the text of an `Authorization` header is a key of this server, which is not forwarded. */
  isOurKey: (authorization: string) => boolean;
  /** Name of this process in `Via`. It shows a forwarding loop. */
  via: string;
}

/** Removes headers by name, and those that `Connection` declares as hop-by-hop. */
export function headersWithout(headers: Headers, names: readonly string[]): Headers {
  const remaining = new Headers(headers);
  for (const name of [...names, ...(headers.get('connection')?.split(',') ?? [])]) {
    // `Connection` may contain texts that aren't header names.
    if (/^[\w-]+$/.test(name.trim())) remaining.delete(name.trim());
  }
  return remaining;
}

/** Maximum bytes of unfinished bodies that a thread has in memory. */
const MAX_UNFINISHED_BYTES = 10 * MAX_PROXY_BODY_BYTES;
/** Bytes of a body that is always received, so that ten slow clients can't stop everybody's transactions. */
const SMALL_BODY_BYTES = 100_000;
/** Maximum milliseconds in which a client must send a body. */
const BODY_TIMEOUT_MS = 60_000;
/** Bytes of the unfinished bodies of this thread. */
let unfinishedBytes = 0;

/**
 * Reads a body that is forwarded, unless its client is slow, or it is large and unfinished bodies use too much memory.
 * @throws ApiError 400, 503; BodyError
 */
async function readForwarded(
  request: Request,
  limit: number,
  now: () => number = () => performance.now(),
): Promise<Uint8Array<ArrayBuffer>> {
  const deadline = now() + BODY_TIMEOUT_MS;
  let bytes = 0;
  try {
    return await bodyBytes(request, limit, (received) => {
      bytes += received;
      unfinishedBytes += received;
      if (now() > deadline) throw new ApiError(400, `The body was not complete after ${BODY_TIMEOUT_MS / 1_000} s`);
      if (bytes > SMALL_BODY_BYTES && unfinishedBytes > MAX_UNFINISHED_BYTES) {
        throw new ApiError(503, 'Too many large request bodies are being received; retry', null, {
          headers: { 'retry-after': '1' },
        });
      }
    });
  } finally {
    unfinishedBytes -= bytes;
  }
}

/**
 * The body of a request that is forwarded; null for a method without one.
 * @param now milliseconds of a monotonic clock
 * @throws ApiError if it has more than {@link MAX_PROXY_BODY_BYTES}, is incomplete or takes too long; 503 if unfinished bodies use
 *   too much memory
 */
export async function forwardedBody(request: Request, now?: () => number): Promise<Uint8Array<ArrayBuffer> | null> {
  if (request.method === 'GET' || request.method === 'HEAD') return null;
  try {
    return await readForwarded(request, MAX_PROXY_BODY_BYTES, now);
  } catch (error) {
    if (!(error instanceof BodyError)) throw error;
    const words = error.reason === 'too_large' ? 'Request body is too large' : 'Request body is not complete';
    throw new ApiError(error.status, words);
  }
}

/**
 * Matches a path segment `..` in any encoding of the dots and slashes. Servers resolve such segments differently; only a path
 * without them means the same to all.
 */
const DOT_DOT = /(?:[/\\]|%(?:25)*2f|%(?:25)*5c)(?:\.|%(?:25)*2e){2}(?:[/\\;]|%(?:25)*2f|%(?:25)*5c|%(?:25)*3b|$)/i;

/** Whether this process has forwarded the request before. */
const wasHere = (headers: Headers, via: string): boolean =>
  (headers.get('via') ?? '').split(',').some((hop) => hop.trim().split(/\s+/)[1] === via);

/** Makes the proxy to another server. */
export function upstream({ name, url, prefix, timeoutMs = UPSTREAM_TIMEOUT_MS, isOurKey, via }: UpstreamOptions) {
  const unanswered = (cause: unknown): ApiError =>
    cause instanceof Error && cause.name === 'TimeoutError'
      ? new ApiError(504, `${name} did not answer in time`, null, { cause })
      : new ApiError(502, `${name} can't be reached`, null, { cause });

  function forwardedHeaders({ headers }: Request): Headers {
    const credentials = isOurKey(headers.get('authorization') ?? '') ? ['authorization'] : [];
    return headersWithout(headers, [...NOT_FORWARDED, ...credentials]);
  }

  /** Maps the location of the server's redirect to a path of this server. */
  function locationHere(location: string): string {
    const target = URL.parse(location, `${url}/`)?.href ?? location;
    const isBelow = target === url || target.startsWith(`${url}/`);
    return isBelow ? prefix + target.slice(url.length) : location;
  }

  return {
    /**
     * Forwards a request. Resolves when the response begins; its body is streamed.
     * @param target path and query, below the prefix; the part after the prefix is appended to the server's URL
     * @throws ApiError 400 if the path leads out of the prefix, 502, 504
     */
    async ask(target: string, request: Request, body: Uint8Array<ArrayBuffer> | null): Promise<Response> {
      if (DOT_DOT.test(target.split('?', 1)[0] ?? '')) {
        throw new ApiError(400, prefix === '' ? 'The path must not contain ".."' : `The path leads out of ${prefix}`);
      }
      if (wasHere(request.headers, via)) throw new ApiError(502, `${name} passes requests back to this server`);
      const headers = forwardedHeaders(request);
      headers.append('via', `1.1 ${via}`);
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(new DOMException('no answer', 'TimeoutError')), timeoutMs);
      try {
        const response = await directFetch(url + target.slice(prefix.length), {
          method: request.method,
          headers,
          body: body === null || body.length === 0 ? null : body,
          redirect: 'manual',
          // The client gets the bytes as they are encoded, with their Content-Encoding.
          decompress: false,
          signal: AbortSignal.any([late.signal, request.signal]),
        });
        if (response.status >= MIN_STATUS && response.status <= MAX_STATUS) return response;
        await response.body?.cancel();
        throw new ApiError(502, `${name} answered with the status ${response.status}, which HTTP doesn't have`);
      } catch (error) {
        throw error instanceof ApiError ? error : unanswered(error);
      } finally {
        // The timeout is for the head only.
        clearTimeout(timer);
      }
    },
    passedBack({ body, status, headers: received }: Response): Response {
      const headers = headersWithout(received, [...HOP_BY_HOP, ...ORIGIN_HEADERS]);
      const location = headers.get('location');
      if (location !== null) headers.set('location', locationHere(location));
      // A page of the other server must not act as a page of this server, since a user may be signed in there.
      headers.set('content-security-policy', 'sandbox');
      headers.set('x-content-type-options', 'nosniff');
      return new Response(body, { status, headers });
    },
    /** Reads a whole response. @throws ApiError 502, 504 */
    async textOf(response: Response): Promise<string> {
      try {
        return await response.text();
      } catch (error) {
        throw unanswered(error);
      }
    },
  };
}

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

const refusal = (status: ErrorStatus, message: string, headers: Readonly<Record<string, string>> = {}): Response =>
  Response.json(problem(status, message), { status, headers });

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
        body: hasBody ? await readForwarded(request, bodyLimit) : null,
        redirect: 'manual',
        decompress: false,
        signal: request.signal,
      });
      return new Response(response.body, { status: response.status, headers: response.headers });
    } catch (error) {
      if (error instanceof ApiError) return refusal(error.status, error.message, error.headers);
      // The client is gone, so nobody reads this response, and nothing failed here.
      if (request.signal.aborted) return refusal(400, 'The client closed the connection');
      throw error;
    }
  };
