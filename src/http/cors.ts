/** Any page may read the API: the answer to a browser that asks before a request. */

import { type AnyElysia, Elysia } from 'elysia';
import { problem } from './errors.ts';
import { pathAndQuery } from './request-url.ts';
import type { Responder } from './respond.ts';

const MANAGEMENT = /^\/chainhooks\//;

/** @param openHooks whether chainhooks are managed without keys, and so by no page of another origin */
export function cors(respond: Responder, openHooks: boolean): AnyElysia {
  return new Elysia({ name: 'cors' }).options(
    '/*',
    ({ request }) => {
      const asked = request.headers;
      if (!asked.has('origin') || !asked.has('access-control-request-method')) {
        return respond.json(400, problem(400, 'Invalid Preflight Request'));
      }
      if (openHooks && MANAGEMENT.test(pathAndQuery(request.url))) {
        return respond.json(403, problem(403, 'A page of another origin may not manage chainhooks'));
      }
      const headers = new Headers(respond.common());
      headers.set('access-control-allow-methods', 'GET,HEAD,POST');
      headers.set('vary', 'Access-Control-Request-Headers');
      const wanted = asked.get('access-control-request-headers');
      if (wanted !== null) headers.set('access-control-allow-headers', wanted);
      return new Response(null, { status: 204, headers });
    },
    { detail: { hide: true } },
  );
}
