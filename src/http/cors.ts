/** CORS preflight: pages of any origin may read the API. */

import { type AnyElysia, Elysia } from 'elysia';
import { problem } from './errors.ts';
import { pathOf } from './request-url.ts';
import type { Responder } from './respond.ts';
import type { Route } from './route.ts';

const HOOK_PATH = /^\/chainhooks(\/|$)/;
const MANAGEMENT_PATH = /^\/chainhooks\//;

/** Seconds for which a browser may reuse the answer: a day, though browsers have lower limits. */
const MAX_AGE_SECONDS = '86400';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** Returns the routes' methods as a header lists them. HEAD is answered without a route. */
function methodsOf(routes: readonly Route[]): string {
  const methods = new Set<string>(routes.map(({ method }) => method));
  return METHODS.filter((method) => methods.has(method === 'HEAD' ? 'GET' : method)).join();
}

/**
 * Answers preflight requests with the methods that are served.
 * @param hooks the routes of chainhooks @param others all other routes
 * @param openHooks whether chainhooks are managed without keys; then pages of other origins may not manage them
 */
export function cors(
  respond: Responder,
  { hooks, others }: Readonly<Record<'hooks' | 'others', readonly Route[]>>,
  openHooks: boolean,
): AnyElysia {
  const [hookMethods, otherMethods] = [methodsOf(hooks), methodsOf(others)];
  return new Elysia({ name: 'cors' }).options(
    '/*',
    ({ request }) => {
      const requestHeaders = request.headers;
      if (!requestHeaders.has('origin') || !requestHeaders.has('access-control-request-method')) {
        return respond.json(400, problem(400, 'Invalid Preflight Request'));
      }
      const path = pathOf(request.url);
      if (openHooks && MANAGEMENT_PATH.test(path)) {
        return respond.json(403, problem(403, "Web pages of other origins can't use this route"));
      }
      const headers = new Headers(respond.common());
      headers.set('access-control-max-age', MAX_AGE_SECONDS);
      headers.set('access-control-allow-methods', HOOK_PATH.test(path) ? hookMethods : otherMethods);
      headers.set('vary', 'Access-Control-Request-Headers');
      const requestedHeaders = requestHeaders.get('access-control-request-headers');
      if (requestedHeaders !== null) headers.set('access-control-allow-headers', requestedHeaders);
      return new Response(null, { status: 204, headers });
    },
    { detail: { hide: true } },
  );
}
