/** Listening for HTTP requests: on any port, and on the API's. */
import type { AnyElysia } from 'elysia';
import { type Clock, pause, systemClock } from '../base/clock.ts';
import { OperatorError, UNEXPECTED } from '../base/errors.ts';
import type { UnexpectedEvent } from '../base/log-events.ts';
import { Turns } from '../base/turns.ts';
import { problem } from './errors.ts';
import { pathAndQuery, pathOf, withPlainPath } from './request-url.ts';

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use',
  EADDRNOTAVAIL: 'this machine does not have the address',
  EACCES: 'this user may not use the port',
  // Bun's codes for a name that can't be resolved, on different systems.
  EINVAL: "the host name can't be resolved",
  ENOENT: "the host name can't be resolved",
  ENOTFOUND: "the host name can't be resolved",
};

/** The flags that set a server's address; undefined if the server lacks such a flag. */
interface AddressFlags {
  host?: string;
  port?: string;
}

function remedyOf(code: string, { host, port }: AddressFlags): string {
  const withFlag = (flag?: string): string => (flag === undefined ? '' : ` with ${flag}`);
  if (code === 'EADDRINUSE') return `Stop the program that uses the port, or choose another port${withFlag(port)}.`;
  if (code === 'EACCES') return `Choose a port that this user may use${withFlag(port)}.`;
  return `Choose an address of this machine${withFlag(host)}.`;
}

/**
 * Starts a server.
 * @param what the server's name in errors
 * @param listen starts the server
 * @throws OperatorError if the address can't be listened on
 */
function listening<T>(
  what: string,
  flags: AddressFlags,
  { hostname, port }: { hostname: string; port: number },
  listen: () => T,
): T {
  try {
    return listen();
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (typeof code !== 'string') throw cause;
    throw new OperatorError(
      `${what} can't listen on ${hostname}:${port}: ${REASONS[code] ?? code}.`,
      remedyOf(code, flags),
      { cause },
    );
  }
}

/** How long requests in progress may still take when a server stops. */
export const GRACE_MS = 5_000;
const POLL_MS = 5;

/** Stops accepting requests, waits for those in progress (not for idle connections), and closes all connections. */
export async function stopGracefully(server: Bun.Server<unknown>, clock: Clock): Promise<void> {
  const stopped = server.stop();
  let late = false;
  const inTime = clock.after(GRACE_MS, () => {
    late = true;
  });
  while (server.pendingRequests > 0 && !late) await pause(clock, POLL_MS);
  inTime();
  await server.stop(true);
  await stopped;
}

type Answer = Response | undefined | Promise<Response | undefined>;
type Handler<Data> = (request: Request, server: Bun.Server<Data>) => Answer;

export interface HttpListenerOptions<Data> {
  /** Name of the server in errors: `The API`. */
  what: string;
  flags?: AddressFlags;
  hostname: string;
  /** 0: any free port. */
  port: number;
  /** Whether other threads may listen on the same port; then the operating system distributes the connections. */
  shared?: boolean;
  /** Maximum length in bytes that a request may declare, without {@link BODY_MARGIN}. Handlers limit the bodies that they read. */
  bodyLimit: number;
  /** Seconds without a byte in either direction after which a connection is closed. */
  idleSeconds: number;
  fetch: Handler<Data>;
  /** Handlers by path, which take precedence over `fetch`. */
  routes?: Readonly<Record<string, Handler<Data>>>;
  websocket?: Bun.WebSocketHandler<Data>;
  /** Shares the thread among requests and the thread's other work for clients; default: only among requests. */
  turns?: Turns;
  /** Makes the response to a malformed or too long request, or to one whose handler failed. */
  refuse: (status: 400 | 413 | 500, message: string) => Response;
  log: (event: UnexpectedEvent) => void;
}

/** Bytes over the limit that the listener accepts, so that the handler can refuse the body and log the refusal. */
const BODY_MARGIN = 1024;
/** How many times the limit a refused body may be long, so that the listener discards it instead of closing the connection. */
const MAX_DISCARDED_BODIES = 4;

const MALFORMED = 'The Host header or the target of the request is malformed';

/**
 * The absolute URL of a request. HTTP/1.0 allows requests without a host, and Bun doesn't complete their URL, so this adds a
 * host.
 * @returns null if the request is malformed
 */
function absoluteUrl({ url, headers }: Request): string | null {
  const host = headers.get('host') ?? '';
  if (host === '' && url.startsWith('/')) return URL.parse(`http://localhost${url}`)?.href ?? null;
  // Bun omits an invalid host from the URL, and joins the values of several Host headers with commas.
  return url.startsWith('http://') && !host.includes(',') && URL.canParse(url) ? url : null;
}

/**
 * Starts an HTTP server.
 * @throws OperatorError if the address can't be listened on
 */
export function listenHttp<Data>({
  what,
  flags = {},
  hostname,
  port,
  shared = false,
  bodyLimit,
  idleSeconds,
  fetch,
  routes = {},
  websocket,
  turns = new Turns(systemClock),
  refuse,
  log,
}: HttpListenerOptions<Data>): Bun.Server<Data> {
  const handlers = new Map(Object.entries(routes));

  const handle: Handler<Data> = (request, server) => {
    const url = absoluteUrl(request);
    if (url === null) return refuse(400, MALFORMED);
    const length = Number(request.headers.get('content-length') ?? 0);
    if (length > bodyLimit + BODY_MARGIN) {
      const refusal = refuse(413, `No request may have a body of more than ${bodyLimit} bytes`);
      // The server receives and discards the body: some clients read no response before they have sent everything.
      if (length > MAX_DISCARDED_BODIES * bodyLimit) refusal.headers.set('connection', 'close');
      return refusal;
    }
    const plain = withPlainPath(url);
    // All handlers rely on this form of the URL.
    if (plain !== request.url) Object.defineProperty(request, 'url', { value: plain });
    const failed = (cause: unknown): Response => {
      log({ event: 'unexpected_error', part: 'request', method: request.method, path: pathAndQuery(plain), cause });
      return refuse(500, UNEXPECTED);
    };
    try {
      const answer = (handlers.get(pathOf(plain)) ?? fetch)(request, server);
      return answer instanceof Promise ? answer.catch(failed) : answer;
    } catch (cause) {
      return failed(cause);
    }
  };
  const handleInTurn: Handler<Data> = (request, server) => {
    const turn = turns.next();
    return turn === undefined ? handle(request, server) : turn.then(() => handle(request, server));
  };

  const settings = {
    hostname,
    port,
    reusePort: shared,
    // Bun would refuse a longer body without a text. It only receives a body as fast as the handler reads it.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    idleTimeout: idleSeconds,
    // Bun's error page shows source code, and must never be served, even if NODE_ENV is `development`.
    development: false,
    fetch: handleInTurn,
    error: () => refuse(500, UNEXPECTED),
  };
  return listening(what, flags, { hostname, port }, () =>
    websocket === undefined
      ? (Bun.serve(settings as never) as Bun.Server<Data>)
      : Bun.serve<Data>({ ...settings, websocket }),
  );
}

/** Starts an HTTP server, on a port of this machine or, in simulations, elsewhere. */
export type Listen = typeof listenHttp;

/**
 * Checks that a server can listen on an address.
 * @throws OperatorError
 */
export function requireFreePort(
  { what, flags }: { what: string; flags: AddressFlags },
  address: { hostname: string; port: number },
): void {
  // Unlike `Bun.listen`, this throws an error with a code if the host name can't be resolved. The port is free at once.
  listening(what, flags, address, () => void Bun.serve({ ...address, fetch: () => Response.error() }).stop(true));
}

/** Reports whether another program listens on a TCP port of this machine. */
export function isPortTaken(hostname: string, port: number): boolean {
  try {
    Bun.listen({ hostname, port, socket: { data() {} } }).stop(true);
    return false;
  } catch {
    return true;
  }
}

export interface ApiServer {
  url: string;
  /** Accepts no more requests, and resolves once those in progress are answered. */
  stop(): Promise<void>;
}

/** The realtime interfaces. @template Data the data of a WebSocket connection */
export interface RealtimeServer<Data> {
  routes: Record<string, Handler<Data>>;
  websocket: Bun.WebSocketHandler<Data>;
  /** Closes the connections, and stops the feed. */
  stop(): Promise<void>;
}

type Address<Data> = Pick<HttpListenerOptions<Data>, 'hostname' | 'port' | 'shared' | 'bodyLimit' | 'turns' | 'log'>;

interface ApiServerOptions<Data> extends Address<Data> {
  app: AnyElysia;
  /** Undefined if nothing is pushed. */
  pushed?: RealtimeServer<Data>;
  clock?: Clock;
  listen?: Listen;
}

/** Idle timeout in seconds, longer than the timeout of requests that are forwarded to the node. */
const IDLE_SECONDS = 75;

export const apiListener = { what: 'The API', flags: { host: '--api-host', port: '--api-port' } } as const;

/** Listens on the API's port. The result has the actual address. */
export function startApi<Data>(options: ApiServerOptions<Data>): ApiServer {
  const { app, pushed, clock = systemClock, listen = listenHttp, ...address } = options;
  const server = listen<Data>({
    ...apiListener,
    ...address,
    idleSeconds: IDLE_SECONDS,
    fetch: (request) => app.fetch(request),
    ...(pushed === undefined ? {} : { routes: pushed.routes, websocket: pushed.websocket }),
    // Without CORS, a web page would not see the reason.
    refuse: (status, message) =>
      Response.json(problem(status, message), { status, headers: { 'access-control-allow-origin': '*' } }),
  });
  app.server = server;
  return {
    url: server.url.origin,
    async stop() {
      const stopped = stopGracefully(server, clock);
      await pushed?.stop();
      await stopped;
    },
  };
}
