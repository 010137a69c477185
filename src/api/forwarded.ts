/** Paths that are forwarded: to the node's RPC interface, and, by prefix, to services that the operator names. */
import { Type } from '@sinclair/typebox';
import { OperatorError } from '../base/errors.ts';
import type { Forward } from '../http/forward.ts';
import { pathSegment } from '../http/request-url.ts';
import { type Route, route, WITHOUT_INDEX } from '../http/route.ts';

/** Paths with separate metrics; other requests are counted by the first segment of their path. */
const COUNTED_PATHS = new Set(['/v2/transactions', '/v2/fees/transaction', '/v2/info']);

function countedAs({ url }: Request): string {
  const { pathname } = new URL(url);
  return COUNTED_PATHS.has(pathname) ? pathname : `/${pathSegment(url, 1)}/*`;
}

/** Hidden routes that forward requests below `/v2` and `/v3` to the node. @param proxy forwards a request to the node */
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
      ...WITHOUT_INDEX,
      countedAs,
      handle: ({ request }) => proxy(request),
    }),
  );

export interface PrefixForward {
  prefix: string;
  forward: Forward;
}

const firstSegment = (path: string): string => path.split('/')[1] ?? '';

/** First path segment of the routes that another service of the operator may replace. */
const REPLACEABLE = 'metadata';

/** Whether a prefix takes the place of a route. @param path of the route */
export const isReplaced = (path: string, prefixes: readonly { prefix: string }[]): boolean =>
  firstSegment(path) === REPLACEABLE && prefixes.some(({ prefix }) => firstSegment(prefix) === REPLACEABLE);

/**
 * Refuses prefixes that share their first segment with a route: they would hide routes of this version or of a later one.
 * @param paths of this server's routes
 * @throws OperatorError
 */
export function requireFreePrefixes(prefixes: readonly { prefix: string }[], paths: readonly string[]): void {
  const segments = new Set(paths.map(firstSegment));
  for (const { prefix } of prefixes) {
    if (!segments.has(firstSegment(prefix))) continue;
    throw new OperatorError(
      `--proxy-prefix ${prefix} would hide routes of Stackside below /${firstSegment(prefix)}.`,
      'Choose a prefix that Stackside does not serve, such as /metadata.',
    );
  }
}

/** Hidden routes that forward requests below prefixes. */
export const prefixRoutes = (prefixes: readonly PrefixForward[]): Route[] =>
  prefixes.flatMap(({ prefix, forward }) =>
    [prefix, `${prefix}/*`].map((path) =>
      route({
        method: 'ALL',
        path,
        operationId: 'askService',
        summary: 'Another service',
        tag: 'Services',
        hidden: true,
        response: Type.Unknown(),
        ...WITHOUT_INDEX,
        countedAs: () => `${prefix}/*`,
        handle: ({ request }) => forward(request),
      }),
    ),
  );
