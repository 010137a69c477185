/** Passing requests on to another HTTP server, and its answers back, as a proxy does (RFC 9110, section 7.6). */
import { directFetch } from './direct-fetch.ts';
import { ApiError } from './errors.ts';
import { BodyError, bodyBytes } from './request-body.ts';

/** Milliseconds until another server must have begun to answer. */
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
/** Request headers that are not forwarded: host and length are set anew; cookies and keys are meant for this server. */
const NOT_FORWARDED = [
  ...HOP_BY_HOP,
  ...['host', 'content-length', 'expect'],
  ...['cookie', 'x-api-key', 'x-chainhook-consumer', 'x-stackside-peer'],
];
/** Headers of answers that would change what a browser keeps of this server's origin. */
const OF_THE_ORIGIN = [
  'set-cookie',
  'set-cookie2',
  'clear-site-data',
  'strict-transport-security',
  'service-worker-allowed',
];
/** The statuses that an answer of ours can have. */
const [LEAST_STATUS, GREATEST_STATUS] = [200, 599];

interface UpstreamOptions {
  /** The other server, as errors name it: `The node`. */
  name: string;
  /** The server's URL, without a slash at its end. */
  url: string;
  /** The path of this server that stands for the URL, without a slash at its end. */
  prefix: string;
  timeoutMs?: number;
  /** Which `Authorization` is a key of this server and not forwarded, by its text. */
  isOurKey: (authorization: string) => boolean;
  /** What this process calls itself in `Via`, by which a request that comes back is noticed. */
  via: string;
}

/** Another server. */
interface Upstream {
  /**
   * Sends a request on. The answer has begun when this resolves, and is streamed.
   * @param target path with the query, below the prefix; what follows the prefix follows the server's URL
   * @throws ApiError 400 where the path leads out of the prefix, 502, 504
   */
  ask(target: string, request: Request, body: Uint8Array<ArrayBuffer> | null): Promise<Response>;
  /** An answer as it is passed back: a page of the other server is none of this server's, though its address is. */
  passedBack(response: Response): Response;
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

/**
 * Finds `..` as a segment of a path, however it and the slashes around it are encoded. Each server on the way
 * resolves a URL in its own manner; only a path without such a segment is the same for all.
 */
const UPWARDS = /(?:[/\\]|%(?:25)*2f|%(?:25)*5c)(?:\.|%(?:25)*2e){2}(?:[/\\;]|%(?:25)*2f|%(?:25)*5c|%(?:25)*3b|$)/i;

/** Whether this process has passed a request on before. */
const wasHere = (headers: Headers, via: string): boolean =>
  (headers.get('via') ?? '').split(',').some((hop) => hop.trim().split(/\s+/)[1] === via);

/** @returns what asks another server */
export function upstream({
  name,
  url,
  prefix,
  timeoutMs = UPSTREAM_TIMEOUT_MS,
  isOurKey,
  via,
}: UpstreamOptions): Upstream {
  const refusal = (cause: unknown): ApiError =>
    isTimeout(cause)
      ? new ApiError(504, `${name} did not answer in time`, null, { cause })
      : new ApiError(502, `${name} can't be reached`, null, { cause });

  function forwarded({ headers }: Request): Headers {
    const own = isOurKey(headers.get('authorization') ?? '') ? ['authorization'] : [];
    return headersWithout(headers, [...NOT_FORWARDED, ...own]);
  }

  /** Where a redirect of the server leads, in the paths of this one. */
  function locationHere(location: string): string {
    const resolved = URL.parse(location, `${url}/`)?.href ?? location;
    const isBelow = resolved === url || resolved.startsWith(`${url}/`);
    return isBelow ? prefix + resolved.slice(url.length) : location;
  }

  return {
    async ask(target, request, body) {
      if (UPWARDS.test(target.split('?', 1)[0] ?? '')) {
        throw new ApiError(400, prefix === '' ? 'The path must not contain ".."' : `The path leads out of ${prefix}`);
      }
      if (wasHere(request.headers, via)) throw new ApiError(502, `${name} passes requests back to this server`);
      const headers = forwarded(request);
      headers.append('via', `1.1 ${via}`);
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(new DOMException('no answer', 'TimeoutError')), timeoutMs);
      try {
        const response = await directFetch(url + target.slice(prefix.length), {
          method: request.method,
          headers,
          body: body === null || body.length === 0 ? null : body,
          redirect: 'manual',
          // The bytes pass as they are on the wire, since the client gets their encoding in a header.
          decompress: false,
          signal: AbortSignal.any([late.signal, request.signal]),
        });
        if (response.status >= LEAST_STATUS && response.status <= GREATEST_STATUS) return response;
        await response.body?.cancel();
        throw new ApiError(502, `${name} answered with the status ${response.status}, which HTTP doesn't have`);
      } catch (error) {
        throw error instanceof ApiError ? error : refusal(error);
      } finally {
        // A body may take longer than its beginning.
        clearTimeout(timer);
      }
    },
    passedBack({ body, status, headers: given }) {
      const headers = headersWithout(given, [...HOP_BY_HOP, ...OF_THE_ORIGIN]);
      const location = headers.get('location');
      if (location !== null) headers.set('location', locationHere(location));
      // A page of the other server must not act as a page of this one, which may be signed in.
      headers.set('content-security-policy', 'sandbox');
      headers.set('x-content-type-options', 'nosniff');
      return new Response(body, { status, headers });
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
