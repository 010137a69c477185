/** The node's own routes, so that a wallet needs one address: whatever of /v2 and /v3 is not ours. */
import { type AnyElysia, Elysia } from 'elysia';
import { problem } from '../http/errors.ts';
import type { RequestMetrics } from '../http/request-metrics.ts';
import { pathSegment } from '../http/request-url.ts';
import type { Responder } from '../http/respond.ts';
import type { ProxyFailure } from '../node/proxy.ts';

/** Passes a request on to the node; a word where there is no answer. */
export type NodeProxy = (request: Request) => Promise<Response | ProxyFailure>;

const failures = {
  unreachable: [502, 'The node can not be reached'],
  timeout: [504, 'The node did not answer in time'],
  too_large: [413, 'Request body is too large'],
  incomplete: [400, 'Request body is not complete'],
} as const;

/** Requests that are timed by themselves; the others by their first segment. */
const TIMED = new Set(['/v2/transactions', '/v2/fees/transaction', '/v2/info']);

export function nodeRoutes(proxy: NodeProxy, respond: Responder, metrics: RequestMetrics): AnyElysia {
  const timers = new Map<string, ReturnType<RequestMetrics['route']>>();
  function done(request: Request, start: number, status: number): void {
    const { pathname } = new URL(request.url);
    const route = TIMED.has(pathname) ? pathname : `/${pathSegment(request.url, 1)}/*`;
    const key = `${request.method} ${route}`;
    let known = timers.get(key);
    if (known === undefined) {
      known = metrics.route(request.method, route);
      timers.set(key, known);
    }
    known(status, performance.now() - start);
  }

  async function answer(request: Request): Promise<Response> {
    const forwarded = await proxy(request);
    if (!(forwarded instanceof Response)) {
      const [status, message] = failures[forwarded];
      return respond.json(status, problem(status, message));
    }
    for (const [name, value] of Object.entries({ ...respond.common(), 'cache-control': 'no-store' })) {
      if (!forwarded.headers.has(name)) forwarded.headers.set(name, value);
    }
    return forwarded;
  }

  const serve = async ({ request }: { request: Request }): Promise<Response> => {
    const start = performance.now();
    const response = await answer(request);
    done(request, start, response.status);
    return response;
  };
  const hidden = { detail: { hide: true }, parse: 'none' } as const;
  return new Elysia({ name: 'node' })
    .all('/v2', serve, hidden)
    .all('/v2/*', serve, hidden)
    .all('/v3', serve, hidden)
    .all('/v3/*', serve, hidden);
}
