/** Deprecated routes: their response headers, and the 410 after their sunset. */
import type { TProperties } from '@sinclair/typebox';
import { lazy } from '../base/cache.ts';
import { problem } from './errors.ts';
import { requestTexts, type SentText } from './parameters.ts';
import { pathStart } from './request-url.ts';
import type { Responder } from './respond.ts';

/** A route that clients should leave. */
export interface Deprecation {
  /**
   * The route to use instead, or several routes if its answer was split; null if there is none. Parameters have their names
   * in the deprecated route, or in `parts`: `/extended/v3/blocks/{block_hash}/transactions`. A query parameter that the
   * request doesn't have is omitted; one with several values makes a link for each value.
   */
  replacement: string | readonly string[] | null;
  /** Path of a related route, if no route replaces this one. Parameters are as in `replacement`. */
  related?: string;
  /** Parameters of the replacement that are derived from the request, by name; a function returns null if it can't derive one. */
  parts?: Readonly<Record<string, (textOf: SentText) => string | null>>;
}

/** The operator's settings for deprecated routes. */
export interface DeprecationPolicy {
  /** False: deprecated routes answer 410 at once. */
  enabled: boolean;
  /** From this time on they answer 410, in Unix milliseconds; null if no date is set. */
  sunset: number | null;
}

/** Makes the policy of a setting: on, off, or the time of the sunset in Unix milliseconds. */
export const deprecationPolicy = (setting: boolean | number): DeprecationPolicy =>
  typeof setting === 'number' ? { enabled: true, sunset: setting } : { enabled: setting, sunset: null };

const PARAMETER = /\{(\w+)\}/g;

/**
 * Makes the deprecation headers of one route, and its 410.
 * @param path of the route, as OpenAPI writes it
 * @param params its path parameters @param query its query parameters
 * @param now the clock, in Unix milliseconds
 * @throws Error if a replacement has a parameter that the route doesn't have
 */
export function deprecationNotice(
  { path, params = {}, query = {} }: { path: string; params?: TProperties; query?: TProperties },
  { replacement, related, parts = {} }: Deprecation,
  { enabled, sunset }: DeprecationPolicy,
  { respond, now }: { respond: Responder; now: () => number },
) {
  const parameters = requestTexts(path, params, query);
  const successors = replacement === null ? [] : [replacement].flat();
  for (const [, name = ''] of [...successors, related ?? ''].join().matchAll(PARAMETER)) {
    if (name in parts || parameters.has(name)) continue;
    throw new Error(`${path} has no parameter ${name} to name its successor by`);
  }
  const targets = lazy(() => [
    ...successors.map((successor) => ({ relation: 'successor-version', template: parseTemplate(successor) })),
    ...(related === undefined ? [] : [{ relation: 'related', template: parseTemplate(related) }]),
  ]);
  const sunsetDate = sunset === null ? null : new Date(sunset).toUTCString();

  function links(url: string): string {
    const { sent, normalized } = parameters.of(url);
    const valuesOf = (name: string): readonly string[] => {
      const part = parts[name];
      return part === undefined ? normalized(name) : [part(sent) ?? []].flat();
    };
    return targets()
      .flatMap(({ relation, template }) =>
        successorUrls(template, valuesOf).map((target) => `<${target}>; rel="${relation}"`),
      )
      .join(', ');
  }

  function addHeaders(response: Response, { url }: Request): Response {
    const { headers } = response;
    headers.set('warning', `299 - "Deprecated: See ${url.slice(0, pathStart(url))}/docs for more information"`);
    const link = links(url);
    if (link !== '') headers.set('link', link);
    if (sunsetDate !== null) headers.set('sunset', sunsetDate);
    return response;
  }

  return {
    addHeaders,
    /** The 410 to answer with; undefined while the route is served. */
    goneResponse(request: Request): Response | undefined {
      if (enabled && (sunset === null || now() < sunset)) return undefined;
      const instead = successors.map((successor) => successor.split('?')[0]).join(', ');
      const message = `This endpoint is gone${instead === '' ? '' : `; use ${instead}`}`;
      return addHeaders(respond.json(410, problem(410, message, 'GONE')), request);
    },
  };
}

/** A replacement's path, and its query parameter. */
interface Template {
  /** The texts between the parameters of the path. */
  texts: readonly string[];
  /** The names of the path's parameters. */
  names: readonly string[];
  query: { key: string; name: string } | null;
}

/** Parses a replacement. @throws Error if its query has more than one parameter */
function parseTemplate(successor: string): Template {
  const [path = '', query] = successor.split('?');
  // Texts and names alternate, since the regular expression has a group.
  const parts = path.split(PARAMETER);
  const texts = parts.filter((_, place) => place % 2 === 0);
  const names = parts.filter((_, place) => place % 2 === 1);
  if (query === undefined) return { texts, names, query: null };
  const [, key, name] = /^(\w+)=\{(\w+)\}$/.exec(query) ?? [];
  if (key === undefined || name === undefined) throw new Error(`${successor} has another query than one parameter`);
  return { texts, names, query: { key, name } };
}

/** The URLs that a template makes; empty if a path parameter has no value. */
function successorUrls({ texts, names, query }: Template, valuesOf: (name: string) => readonly string[]): string[] {
  let target = texts[0] ?? '';
  for (const [place, name] of names.entries()) {
    const value = valuesOf(name)[0];
    if (value === undefined) return [];
    target += encodeURIComponent(value) + texts[place + 1];
  }
  const values = query === null ? [] : valuesOf(query.name);
  return values.length === 0 ? [target] : values.map((value) => `${target}?${query?.key}=${encodeURIComponent(value)}`);
}
