/** The API's port. */

import type { AnyElysia } from 'elysia';
import { type Clock, systemClock } from '../base/clock.ts';
import { problem } from './errors.ts';
import { type Handler, type HttpListenerOptions, type Listen, listenHttp, stopGracefully } from './listener.ts';

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
