/** The node's own routes, so that a wallet needs one address: whatever of /v2 and /v3 is not ours. */
import { Type } from '@sinclair/typebox';
import type { Forward } from '../http/forward.ts';
import { pathSegment } from '../http/request-url.ts';
import { type Route, route } from '../http/route.ts';

/** Requests that are counted by themselves; the others by their first segment. */
const COUNTED = new Set(['/v2/transactions', '/v2/fees/transaction', '/v2/info']);

function countedAs({ url }: Request): string {
  const { pathname } = new URL(url);
  return COUNTED.has(pathname) ? pathname : `/${pathSegment(url, 1)}/*`;
}

/** Hidden routes that pass requests under `/v2` and `/v3` on to the node. @param proxy makes the node's answer */
export const nodeRoutes = (proxy: Forward): Route[] =>
  ['/v2', '/v2/*', '/v3', '/v3/*'].map((path) =>
    route({
      method: 'ALL',
      path,
      operationId: 'askNode',
      summary: "The node's own interface",
      tag: 'Node',
      hidden: true,
      response: Type.Unknown(),
      etag: null,
      snapshot: false,
      countedAs,
      handle: ({ request }) => proxy(request),
    }),
  );
