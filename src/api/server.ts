/** The API's port. */
import type { AnyElysia } from 'elysia';
import { stopGracefully } from '../graceful-stop.ts';
import { MAX_BODY } from './conventions/body.ts';
import { problem } from './conventions/errors.ts';

export interface ApiServer {
  url: string;
  /** Takes no more requests, and ends once those in hand are answered. */
  stop(): Promise<void>;
}

export interface ApiServerOptions {
  app: AnyElysia;
  hostname: string;
  /** 0 takes a free one. */
  port: number;
}

export async function startApi({ app, hostname, port }: ApiServerOptions): Promise<ApiServer> {
  const server = Bun.serve({
    hostname,
    port,
    // A little over the limit, so that a body with a length is refused by us, with a reason.
    maxRequestBodySize: MAX_BODY + 1024,
    idleTimeout: 30,
    development: false,
    fetch: app.fetch,
    error: () => Response.json(problem(500, 'Unexpected error; the log has its cause'), { status: 500 }),
  });
  app.server = server;
  return {
    url: server.url.origin,
    stop: () => stopGracefully(server),
  };
}
