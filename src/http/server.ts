/** The API's port. */

import type { AnyElysia } from 'elysia';
import { type Clock, systemClock } from '../base/clock.ts';
import type { UnexpectedEvent } from '../base/log-events.ts';
import type { Turns } from '../base/turns.ts';
import { problem } from './errors.ts';
import { type Handler, type Listen, listenHttp, stopGracefully } from './listener.ts';

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

interface ApiServerOptions<Data> {
  app: AnyElysia;
  hostname: string;
  /** 0: any free port. */
  port: number;
  /** Whether other threads may listen on the same port; then the operating system distributes the connections. */
  shared?: boolean;
  /** Maximum body size of any request in bytes; routes may allow less. */
  bodyLimit: number;
  /** Undefined if nothing is pushed. */
  pushed?: RealtimeServer<Data>;
  turns?: Turns;
  clock?: Clock;
  listen?: Listen;
  log: (event: UnexpectedEvent) => void;
}

/** Idle timeout in seconds, longer than the timeout of requests that are forwarded to the node. */
const IDLE_SECONDS = 75;

/** The API's name and flags in errors about its address. */
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
    refuse: (status, message) => Response.json(problem(status, message), { status }),
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
