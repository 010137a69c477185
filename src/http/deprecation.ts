/** Deprecated routes: their response headers, and the 410 after their sunset. */
import type { TProperties, TSchema } from '@sinclair/typebox';
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
   * request doesn't have is omitted; one with several values makes a link for each value. The place and size of the page
   * ({@link PAGE}) are added if the replacement has these parameters. If the request has another parameter, such as a filter,
   * the replacement returns other data: it is only a related route for this request.
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

/** Query parameters with the same meaning in every list. */
const PAGE = ['limit', 'offset'] as const;

/** Query parameters that change how much an answer contains, but not which data: a link without them has the same data. */
const PRESENTATION_PARAMETERS: ReadonlySet<string> = new Set([
  'limit',
  'unanchored',
  'exclude_function_args',
  'tx_metadata',
  'include_mempool',
  'event_limit',
  'event_offset',
]);

/** Returns the query parameters of the route at a path; empty if there is no such route. */
export type QueryOf = (path: string) => TProperties;

const withoutNames = (path: string): string => path.replace(PARAMETER, '{}');

/** Finds query parameters of routes by path. The names of the path's parameters may differ. */
export function queriesOf(routes: readonly { method: string; path: string; query: TProperties }[]): QueryOf {
  const queries = lazy(
    () =>
      new Map(
        routes.flatMap(({ method, path, query }) => (method === 'GET' ? [[withoutNames(path), query] as const] : [])),
      ),
  );
  return (path) => queries().get(withoutNames(path)) ?? {};
}

/** Spells a parameter of the page for a successor: a larger limit than the successor's becomes its limit. */
function pageParameter(name: string, text: string | null, { minimum = 0, maximum }: TSchema): string[] {
  if (text === null || !/^\d+$/.test(text)) return [];
  const allowed = Math.min(Number(text), maximum ?? Number.MAX_SAFE_INTEGER);
  return allowed < minimum ? [] : [`${name}=${allowed}`];
}

/**
 * Makes the deprecation headers of one route, and its 410.
 * @param path of the route, as OpenAPI writes it
 * @param params its path parameters @param query its query parameters
 * @param successorQuery finds the query parameters of its successors
 * @param now the clock, in Unix milliseconds
 * @throws Error if a replacement has a parameter that the route doesn't have
 */
export function deprecationNotice(
  { path, params = {}, query = {} }: { path: string; params?: TProperties; query?: TProperties },
  { replacement, related, parts = {} }: Deprecation,
  { enabled, sunset }: DeprecationPolicy,
  { respond, now, successorQuery }: { respond: Responder; now: () => number; successorQuery: QueryOf },
) {
  const parameters = requestTexts(path, params, query);
  const successors = replacement === null ? [] : [replacement].flat();
  for (const [, name = ''] of [...successors, related ?? ''].join().matchAll(PARAMETER)) {
    if (name in parts || parameters.has(name)) continue;
    throw new Error(`${path} has no parameter ${name} to name its successor by`);
  }
  /** Query parameters that choose the data of the answer. */
  const choosing = Object.keys(query).filter((name) => !PRESENTATION_PARAMETERS.has(name));
  /** Whether a request has a parameter that changes the data. */
  const isChosen = (name: string, sent: SentText): boolean => {
    const text = sent(name);
    return text !== null && text !== '' && text !== String(query[name]?.default);
  };
  const templates = lazy(() =>
    successors.map(parseTemplate).map((template) => {
      const successor = successorQuery(template.path);
      return {
        ...template,
        pageSchemas: PAGE.flatMap((name) => (name in successor ? [{ name, schema: successor[name]! }] : [])),
        dropped: choosing.filter((name) => !template.uses.has(name) && !(name === 'offset' && name in successor)),
      };
    }),
  );
  const relatedTemplate = related === undefined ? null : lazy(() => parseTemplate(related));
  const sunsetDate = sunset === null ? null : new Date(sunset).toUTCString();

  function links(url: string): string {
    const { sent, normalized } = parameters.of(url);
    const valuesOf = (name: string): readonly string[] => {
      const part = parts[name];
      return part === undefined ? normalized(name) : [part(sent) ?? []].flat();
    };
    const instead = templates().flatMap((template) => {
      const page = template.pageSchemas.flatMap(({ name, schema }) => pageParameter(name, sent(name), schema));
      const relation = template.dropped.some((name) => isChosen(name, sent)) ? 'related' : 'successor-version';
      return successorUrls(template, valuesOf, page).map((target) => `<${target}>; rel="${relation}"`);
    });
    return [
      ...instead,
      ...(relatedTemplate === null ? [] : successorUrls(relatedTemplate(), valuesOf, [])).map(
        (target) => `<${target}>; rel="related"`,
      ),
    ].join(', ');
  }

  /** Adds the deprecation headers to a response. */
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
  path: string;
  /** The texts between the parameters of the path. */
  texts: readonly string[];
  /** The names of the path's parameters. */
  names: readonly string[];
  query: { key: string; name: string } | null;
  /** The names of all parameters. */
  uses: ReadonlySet<string>;
}

/** Parses a replacement. @throws Error if its query has more than one parameter */
function parseTemplate(successor: string): Template {
  const [path = '', query] = successor.split('?');
  // Texts and names alternate, since the regular expression has a group.
  const parts = path.split(PARAMETER);
  const texts = parts.filter((_, place) => place % 2 === 0);
  const names = parts.filter((_, place) => place % 2 === 1);
  if (query === undefined) return { path, texts, names, query: null, uses: new Set(names) };
  const [, key, name] = /^(\w+)=\{(\w+)\}$/.exec(query) ?? [];
  if (key === undefined || name === undefined) throw new Error(`${successor} has another query than one parameter`);
  return { path, texts, names, query: { key, name }, uses: new Set([...names, name]) };
}

/**
 * The URLs that a template makes; empty if a path parameter has no value.
 * @param page texts of query parameters that every URL gets
 */
function successorUrls(
  { texts, names, query }: Template,
  valuesOf: (name: string) => readonly string[],
  page: readonly string[],
): string[] {
  let target = texts[0] ?? '';
  for (const [place, name] of names.entries()) {
    const value = valuesOf(name)[0];
    if (value === undefined) return [];
    target += encodeURIComponent(value) + texts[place + 1];
  }
  const values = query === null ? [] : valuesOf(query.name).map((value) => `${query.key}=${encodeURIComponent(value)}`);
  const queries = values.length === 0 ? [page] : values.map((value) => [value, ...page]);
  return queries.map((parts) => (parts.length === 0 ? target : `${target}?${parts.join('&')}`));
}
