/** Routes of other services, which are passed on by a prefix of their paths. */
import { Type } from '@sinclair/typebox';
import { OperatorError } from '../base/errors.ts';
import type { Forward } from '../http/forward.ts';
import { type Route, route } from '../http/route.ts';

/** What answers below a prefix. */
export interface PrefixForward {
  prefix: string;
  forward: Forward;
}

const firstSegment = (path: string): string => path.split('/')[1] ?? '';

/**
 * Refuses prefixes that begin as a route of this server does: one of both would be hidden, now or in a later version.
 * @param paths of this server's routes
 * @throws OperatorError
 */
export function requireFreePrefixes(prefixes: readonly { prefix: string }[], paths: readonly string[]): void {
  const own = new Set(paths.map(firstSegment));
  for (const { prefix } of prefixes) {
    if (!own.has(firstSegment(prefix))) continue;
    throw new OperatorError(
      `--proxy-prefix ${prefix} would hide routes of Stackside below /${firstSegment(prefix)}.`,
      'Choose a prefix that Stackside does not serve, such as /metadata.',
    );
  }
}

/** Hidden routes that pass requests below prefixes on. */
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
        etag: null,
        snapshot: false,
        countedAs: () => `${prefix}/*`,
        handle: ({ request }) => forward(request),
      }),
    ),
  );
