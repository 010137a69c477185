/** What a deprecated route says of itself, and its end. */
import type { TProperties } from '@sinclair/typebox';
import { lazy } from '../base/cache.ts';
import { problem } from './errors.ts';
import { type SentText, spellingReader } from './parameters.ts';
import { pathStart } from './request-url.ts';
import type { Responder } from './respond.ts';

/** A route that clients should leave. */
export interface Deprecation {
  /**
   * The route to use instead, or each where its answer was split; null where there is none. Parameters have the names that
   * they have in the deprecated route, or in `parts`: `/extended/v3/blocks/{block_hash}/transactions`. One in the query is
   * left out where the request doesn't have it, and one with several values makes a link for each.
   */
  replacement: string | readonly string[] | null;
  /** The path of a route that answers something else which may help, where none replaces this one. */
  related?: string;
  /** Parameters that a request holds in another form, by name; null where it doesn't hold them. */
  parts?: Readonly<Record<string, (sent: SentText) => string | null>>;
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
 * @param params its parameters @param query those of its query
 * @param now the clock, in Unix milliseconds
 * @throws Error for a successor with a parameter that the route doesn't have
 */
export function deprecatedRoute(
  { path, params = {}, query = {} }: { path: string; params?: TProperties; query?: TProperties },
  { replacement, related, parts = {} }: Deprecation,
  { enabled, sunset }: DeprecationPolicy,
  respond: Responder,
  now: () => number,
): DeprecatedRoute {
  const parameters = spellingReader(path, params, query);
  const successors = replacement === null ? [] : [replacement].flat();
  for (const [, name = ''] of successors.join().matchAll(PARAMETER)) {
    if (name in parts || parameters.has(name)) continue;
    throw new Error(`${path} has no parameter ${name} to name its successor by`);
  }
  const templates = lazy(() => successors.map(templateOf));
  const sunsetDate = sunset === null ? null : new Date(sunset).toUTCString();

  function links(url: string): string {
    const { sent, spelled } = parameters.of(url);
    const valuesOf = (name: string): readonly string[] => {
      const part = parts[name];
      return part === undefined ? spelled(name) : [part(sent) ?? []].flat();
    };
    const instead = templates().flatMap((template) => filled(template, valuesOf));
    return [
      ...instead.map((target) => `<${target}>; rel="successor-version"`),
      ...(related === undefined ? [] : [`<${related}>; rel="related"`]),
    ].join(', ');
  }

  function mark(response: Response, { url }: Request): Response {
    const { headers } = response;
    headers.set('warning', `299 - "Deprecated: See ${url.slice(0, pathStart(url))}/docs for more information"`);
    const link = links(url);
    if (link !== '') headers.set('link', link);
    if (sunsetDate !== null) headers.set('sunset', sunsetDate);
    return response;
  }

  return {
    mark,
    gone(request) {
      if (enabled && (sunset === null || now() < sunset)) return undefined;
      const instead = successors.map((successor) => successor.split('?')[0]).join(', ');
      const message = `This endpoint is gone${instead === '' ? '' : `; use ${instead}`}`;
      return mark(respond.json(410, problem(410, message, 'GONE')), request);
    },
  };
}

/** The path of a successor, and the parameter of its query. */
interface Template {
  /** The texts around the parameters of the path. */
  texts: readonly string[];
  /** The names of the parameters between them. */
  names: readonly string[];
  query: { key: string; name: string } | null;
}

/** Reads a successor. @throws Error for one whose query is more than one parameter */
function templateOf(successor: string): Template {
  const [path = '', query] = successor.split('?');
  // Texts and names alternate, since the expression has a group.
  const parts = path.split(PARAMETER);
  const texts = parts.filter((_, place) => place % 2 === 0);
  const names = parts.filter((_, place) => place % 2 === 1);
  if (query === undefined) return { texts, names, query: null };
  const [, key, name] = /^(\w+)=\{(\w+)\}$/.exec(query) ?? [];
  if (key === undefined || name === undefined) throw new Error(`${successor} has another query than one parameter`);
  return { texts, names, query: { key, name } };
}

/** The URLs that a template stands for; none where a parameter of its path has no value. */
function filled({ texts, names, query }: Template, valuesOf: (name: string) => readonly string[]): string[] {
  let target = texts[0] ?? '';
  for (const [place, name] of names.entries()) {
    const value = valuesOf(name)[0];
    if (value === undefined) return [];
    target += encodeURIComponent(value) + texts[place + 1];
  }
  if (query === null) return [target];
  const values = valuesOf(query.name);
  return values.length === 0 ? [target] : values.map((value) => `${target}?${query.key}=${encodeURIComponent(value)}`);
}
