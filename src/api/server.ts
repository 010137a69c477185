/** The API's port. */
import type { AnyElysia } from 'elysia';
import { listening, stopGracefully } from '../listening.ts';
import { problem } from './conventions/errors.ts';

export interface ApiServer {
  url: string;
  /** Takes no more requests, and ends once those in hand are answered. */
  stop(): Promise<void>;
}

/** What is pushed to clients, on connections that last. @template Data what a socket knows of itself */
export interface Pushed<Data> {
  /** By path. */
  routes: Record<
    string,
    (request: Request, server: Bun.Server<Data>) => Response | undefined | Promise<Response | undefined>
  >;
  websocket: Bun.WebSocketHandler<Data>;
  /** Ends the connections, and what tells them. */
  stop(): Promise<void>;
}

export interface ApiServerOptions<Data> {
  app: AnyElysia;
  hostname: string;
  /** 0 takes a free one. */
  port: number;
  /** Whether other threads may listen on the same port; then the system shares out the connections. */
  shared?: boolean;
  /** Largest body of any request, in bytes; routes may allow less. */
  bodyLimit: number;
  /** Where something is. */
  pushed?: Pushed<Data>;
}

/** A little over the limit, so that a body with a length is refused by a route, with a reason. */
const BODY_MARGIN = 1024;
/** Seconds: longer than a node may take to answer what is passed on to it. */
const IDLE_SECONDS = 75;

export function startApi<Data>(options: ApiServerOptions<Data>): ApiServer {
  const { app, hostname, port, shared = false, bodyLimit, pushed } = options;
  const served = {
    hostname,
    port,
    reusePort: shared,
    maxRequestBodySize: bodyLimit + BODY_MARGIN,
    idleTimeout: IDLE_SECONDS,
    development: false,
    fetch: app.fetch,
    error: () => Response.json(problem(500, 'Unexpected error; the log has its cause'), { status: 500 }),
  } as const;
  const server: Bun.Server<unknown> = listening('The API', { hostname, port }, () =>
    pushed === undefined
      ? Bun.serve(served)
      : Bun.serve<Data>({ ...served, routes: pushed.routes, websocket: pushed.websocket }),
  );
  app.server = server;
  return {
    url: server.url.origin,
    async stop() {
      const stopped = stopGracefully(server);
      await pushed?.stop();
      await stopped;
    },
  };
}
