/** The one way in which a port answers HTTP: every listener refuses malformed requests alike and survives a handler that fails. */
import { UNEXPECTED } from '../base/errors.ts';
import { listening } from './listening.ts';

export type ListenerEvent = { event: 'request_failed'; method: string; path: string; cause: unknown };

type Answer = Response | undefined | Promise<Response | undefined>;
export type Handler<Data> = (request: Request, server: Bun.Server<Data>) => Answer;

export interface HttpListenerOptions<Data> {
  /** What listens, as an error says it: `The API`. */
  what: string;
  hostname: string;
  /** 0 takes a free one. */
  port: number;
  /** Whether other threads may listen on the same port; then the system shares out the connections. */
  shared?: boolean;
  /** The largest body of any request, in bytes, without the margin that lets handlers refuse one with a reason. */
  bodyLimit: number;
  /** Seconds without a byte in either direction after which a connection is closed. */
  idleSeconds: number;
  fetch: Handler<Data>;
  /** What answers instead of `fetch` on paths of their own. */
  routes?: Readonly<Record<string, Handler<Data>>>;
  websocket?: Bun.WebSocketHandler<Data>;
  /** Makes the answer to a request that is malformed, or whose handler failed. */
  refuse: (status: 400 | 500, message: string) => Response;
  log: (event: ListenerEvent) => void;
}

/** A little over the limit, so that a body with a length is refused by its handler, with a reason. */
const BODY_MARGIN = 1024;

/** The path and query of a request, for the log: it may have come with any URL. */
function pathOf(url: string): string {
  const scheme = url.indexOf('://');
  return scheme < 0 ? url : url.slice(url.indexOf('/', scheme + 3));
}

const MALFORMED = 'The Host header or the target of the request is malformed';

/**
 * Sees to it that the URL of a request is absolute and parses, which all code behind a listener relies on. The runtime
 * leaves the target of a request without a host as it was sent, so such a request, which HTTP/1.0 allows, gets a host.
 * @returns what is wrong with the request; null where nothing is
 */
function mistakeIn(request: Request): string | null {
  const host = request.headers.get('host') ?? '';
  if (host === '' && request.url.startsWith('/')) {
    const url = URL.parse(`http://localhost${request.url}`);
    if (url === null) return MALFORMED;
    Object.defineProperty(request, 'url', { value: url.href });
    return null;
  }
  // The runtime leaves out of the URL what can't be a host, and joins the values of several headers with commas.
  const malformed = !request.url.startsWith('http://') || host.includes(',') || !URL.canParse(request.url);
  return malformed ? MALFORMED : null;
}

/**
 * Begins to answer requests.
 * @throws OperatorError where the address can't be listened on
 */
export function listenHttp<Data>(options: HttpListenerOptions<Data>): Bun.Server<Data> {
  const { what, hostname, port, shared = false, bodyLimit, idleSeconds, fetch, routes = {}, refuse, log } = options;

  const guarded =
    (handler: Handler<Data>): Handler<Data> =>
    async (request, server) => {
      const mistake = mistakeIn(request);
      if (mistake !== null) return refuse(400, mistake);
      try {
        return await handler(request, server);
      } catch (cause) {
        log({ event: 'request_failed', method: request.method, path: pathOf(request.url), cause });
        return refuse(500, UNEXPECTED);
      }
    };

  const served = {
    hostname,
    port,
    reusePort: shared,
    maxRequestBodySize: bodyLimit + BODY_MARGIN,
    idleTimeout: idleSeconds,
    // Never the runtime's page of errors, which shows source code, whatever NODE_ENV says.
    development: false,
    fetch: guarded(fetch),
    routes: Object.fromEntries(Object.entries(routes).map(([path, handler]) => [path, guarded(handler)])),
    error: () => refuse(500, UNEXPECTED),
  };
  const { websocket } = options;
  return listening(what, { hostname, port }, () =>
    websocket === undefined
      ? (Bun.serve(served as never) as Bun.Server<Data>)
      : Bun.serve<Data>({ ...served, websocket }),
  );
}

/** What begins to answer requests, on a port of this machine or elsewhere. */
export type Listen = typeof listenHttp;
