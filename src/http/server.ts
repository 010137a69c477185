/** The API's port. */
import type { AnyElysia } from 'elysia';
import { type Clock, systemClock } from '../base/clock.ts';
import type { Turns } from '../base/turns.ts';
import { problem } from './errors.ts';
import { type Handler, type Listen, type ListenerEvent, listenHttp, stopGracefully } from './listener.ts';

export interface ApiServer {
  url: string;
  /** Takes no more requests, and ends once those in hand are answered. */
  stop(): Promise<void>;
}

/** What is pushed to clients, on connections that last. @template Data what a socket knows of itself */
export interface Pushed<Data> {
  /** Handlers by path. */
  routes: Record<string, Handler<Data>>;
  websocket: Bun.WebSocketHandler<Data>;
  /** Ends the connections, and what feeds them. */
  stop(): Promise<void>;
}

interface ApiServerOptions<Data> {
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
  turns?: Turns;
  clock?: Clock;
  listen?: Listen;
  log: (event: ListenerEvent) => void;
}

/** Seconds: longer than a node may take to answer what is passed on to it. */
const IDLE_SECONDS = 75;

/** What errors of the API's address say. */
export const apiListener = { what: 'The API', flags: { host: '--api-host', port: '--api-port' } } as const;

/** Listens on the API's port. The address that came of it is in the result. */
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
