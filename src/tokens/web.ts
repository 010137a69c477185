/** Reads what is at a URI that a contract or a document names: bounded, and by the rules of addresses of `http/outgoing.ts`. */
import { promisify } from 'node:util';
import { brotliDecompress, inflate, unzip } from 'node:zlib';
import { lruCache } from '../base/cache.ts';
import type { Clock } from '../base/clock.ts';
import { hasCode } from '../base/errors.ts';
import {
  type Answer,
  checkedTarget,
  inTime,
  LateError,
  parseNetworks,
  retryAfter,
  type Send,
  type TargetGuard,
  targetGuard,
} from '../http/outgoing.ts';
import { dataOf, type Gateways, type Place, placeOf } from './uri.ts';

/** Redirects that are followed, each by the same rules. */
const MOST_REDIRECTS = 5;
/** Time for a resource with its redirects, in milliseconds. */
export const FETCH_MS = 30_000;
/** Time for which a host is left alone that answered 429 without saying for how long, in milliseconds. */
const BARRED_MS = 60_000;
/** Hosts that asked to wait, at most. */
const MOST_BARRED = 10_000;

const TOO_MANY_REQUESTS = 429;

/** What is at a URI, or why it can't be read. */
export type Fetched =
  | { kind: 'read'; bytes: Buffer; mediaType: string }
  | {
      kind: 'failed';
      /** The URI isn't valid or of an unknown scheme; larger than allowed; no whole answer in time; an error of the server. */
      reason: 'uri' | 'too_large' | 'timeout' | 'refused';
    }
  /** The host asked to wait, or the process ends. @see until in Unix milliseconds */
  | { kind: 'wait'; until: number };

export interface WebOptions {
  gateways: Gateways;
  clock: Clock;
  send: Send;
  userAgent: string;
  /** Decides to which addresses requests may go; tests allow their own. By default, public ones. */
  guard?: TargetGuard;
}

/** Reads a resource of up to a number of bytes. @param signal ends the request */
export type FetchUri = (uri: string, mostBytes: number, signal: AbortSignal) => Promise<Fetched>;

const failed = (reason: Extract<Fetched, { kind: 'failed' }>['reason']): Fetched => ({ kind: 'failed', reason });

const inflaters = {
  gzip: promisify(unzip),
  'x-gzip': promisify(unzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
} as const;

/** The body of an answer, without its compression. */
async function content({ headers, body, ended }: Answer, mostBytes: number): Promise<Fetched> {
  if (ended !== 'whole') return failed(ended === 'long' ? 'too_large' : ended === 'late' ? 'timeout' : 'refused');
  const mediaType = headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? '';
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'identity' || encoding === '') return { kind: 'read', bytes: body, mediaType };
  if (!Object.hasOwn(inflaters, encoding)) return failed('refused');
  try {
    // What was sent compressed may be small, and a thousand times larger without.
    const bytes = await inflaters[encoding as keyof typeof inflaters](body, { maxOutputLength: mostBytes });
    return { kind: 'read', bytes, mediaType };
  } catch (error) {
    return failed(hasCode(error, 'ERR_BUFFER_TOO_LARGE') ? 'too_large' : 'refused');
  }
}

/** Makes the function that reads URIs. It remembers the hosts that asked to wait. */
export function uriFetcher(options: WebOptions): FetchUri {
  const { gateways, clock, send, userAgent, guard = targetGuard({ allowed: [], plainHttp: true }) } = options;
  // The operator chose the gateways, which may be in their own network.
  const toGateway = targetGuard({ allowed: parseNetworks('0.0.0.0/0,::/0') ?? [], plainHttp: true });
  /** Until when hosts asked to be left alone, in Unix milliseconds. */
  const barred = lruCache<string, number>(MOST_BARRED);

  function barOf(host: string): number | null {
    const until = barred.get(host);
    return until !== undefined && until > clock.now() ? until : null;
  }

  async function asked(first: Extract<Place, { kind: 'web' }>, most: number, ending: AbortSignal): Promise<Fetched> {
    const { gateway } = first;
    let { url } = first;
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
      const until = barOf(url.host);
      if (until !== null) return { kind: 'wait', until };
      const isGateway =
        gateway !== null && url.origin === gateway.base.origin && url.pathname.startsWith(gateway.base.pathname);
      const target = await checkedTarget(isGateway ? toGateway : guard, url.href, ending);
      const answer = await send({
        ...target,
        method: 'GET',
        headers: {
          'user-agent': userAgent,
          'accept-encoding': 'identity',
          connection: 'close',
          ...(isGateway ? gateway.headers : {}),
        },
        connectTimeoutMs: FETCH_MS,
        mostBytes: most,
        signal: ending,
        clock,
      });
      const { status, headers } = answer;
      if (status === TOO_MANY_REQUESTS) {
        const wait = retryAfter(headers['retry-after'], clock.now());
        const end = clock.now() + (wait === null || wait === 0 ? BARRED_MS : wait);
        barred.set(url.host, end, 1);
        return { kind: 'wait', until: end };
      }
      if (status >= 200 && status < 300) return content(answer, most);
      if (status < 300 || status >= 400 || headers.location === undefined) return failed('refused');
      const next = URL.parse(headers.location, url.href);
      if (next === null) return failed('refused');
      url = next;
    }
    return failed('refused');
  }

  return async (uri, mostBytes, signal) => {
    const place = placeOf(uri, gateways);
    if (place === null) return failed('uri');
    if (place.kind === 'data') {
      const bytes = dataOf(place);
      if (bytes === null) return failed('uri');
      return bytes.length > mostBytes ? failed('too_large') : { kind: 'read', bytes, mediaType: place.mediaType };
    }
    try {
      const fetched = await inTime({ clock, timeoutMs: FETCH_MS, signal }, (ending) => asked(place, mostBytes, ending));
      return signal.aborted ? { kind: 'wait', until: clock.now() } : fetched;
    } catch (error) {
      if (signal.aborted) return { kind: 'wait', until: clock.now() };
      // Whatever failed, it is the name, the address, the connection or the answer of a host that a stranger chose.
      return failed(error instanceof LateError ? 'timeout' : 'refused');
    }
  };
}
