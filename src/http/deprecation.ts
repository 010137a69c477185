/** What a deprecated route says of itself, and its end. */
import { problem } from './errors.ts';
import { pathSegment, pathStart, queryText } from './request-url.ts';
import type { Responder } from './respond.ts';

/** A route that clients should leave. */
export interface Deprecation {
  /**
   * The path of the route to use instead, or of each where its answer was split; null where there is none. Parameters
   * are named as in the deprecated route's own path or query: `/extended/v3/blocks/{block_hash}/transactions`.
   */
  replacement: string | readonly string[] | null;
}

/** How deprecated routes are treated, as the operator set it. */
export interface DeprecationPolicy {
  /** Switched off, they are gone at once. */
  enabled: boolean;
  /** When they are gone, in Unix milliseconds; null while no date is set. */
  sunset: number | null;
}

export const NO_SUNSET: DeprecationPolicy = { enabled: true, sunset: null };

interface DeprecatedRoute {
  /** Undefined while the route is served, else the 410 to answer with instead. */
  gone(request: Request): Response | undefined;
  /** Adds the headers that every response of the route has. */
  mark(response: Response, request: Request): Response;
}

const PARAMETER = /\{(\w+)\}/g;

/**
 * @param path the route's own, as OpenAPI writes it
 * @param queryNames of the parameters of its query
 * @param now the clock, in Unix milliseconds
 */
export function deprecatedRoute(
  path: string,
  queryNames: readonly string[],
  { replacement }: Deprecation,
  { enabled, sunset }: DeprecationPolicy,
  respond: Responder,
  now: () => number,
): DeprecatedRoute {
  const segments = path.split('/');
  const successors = (replacement === null ? [] : [replacement].flat()).map((successor) => ({
    successor,
    parts: new Map(
      [...successor.matchAll(PARAMETER)].map(([, name]) => [name, partOf(segments, path, queryNames, name)]),
    ),
  }));
  const sunsetDate = sunset === null ? null : new Date(sunset).toUTCString();

  const link = (url: string): string =>
    successors
      .map(({ successor, parts }) => {
        const filled = successor.replace(PARAMETER, (_, name) => parts.get(name)?.(url) || `%7B${name}%7D`);
        return `<${filled}>; rel="successor-version"`;
      })
      .join(', ');

  function mark(response: Response, { url }: Request): Response {
    const { headers } = response;
    headers.set('warning', `299 - "Deprecated: See ${url.slice(0, pathStart(url))}/docs for more information"`);
    if (successors.length > 0) headers.set('link', link(url));
    if (sunsetDate !== null) headers.set('sunset', sunsetDate);
    return response;
  }

  return {
    mark,
    gone(request) {
      if (enabled && (sunset === null || now() < sunset)) return undefined;
      const instead = successors.length === 0 ? '' : `; use ${successors.map(({ successor }) => successor).join(', ')}`;
      return mark(respond.json(410, problem(410, `This endpoint is gone${instead}`, 'GONE')), request);
    },
  };
}

/** What finds the text of a parameter in a URL, as it was sent; empty where the query lacks it. */
function partOf(
  segments: readonly string[],
  path: string,
  queryNames: readonly string[],
  name = '',
): (url: string) => string {
  const place = segments.indexOf(`{${name}}`);
  if (place >= 0) return (url) => pathSegment(url, place);
  if (!queryNames.includes(name)) throw new Error(`${path} has no parameter ${name} to name its successor by`);
  return (url) => encodeURIComponent(new URLSearchParams(queryText(url)).get(name) ?? '');
}
