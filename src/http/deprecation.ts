/** Deprecated routes: their response headers, and the 410 after their sunset. */
import type { TProperties } from '@sinclair/typebox';
import { problem } from './errors.ts';
import { requestTexts, type SentText } from './parameters.ts';
import { pathStart } from './request-url.ts';
import type { Responder } from './respond.ts';

export interface Deprecation {
  /**
   * The route to use instead, or several routes if its answer was split; null if there is none. Parameters have their names
   * in the deprecated route, or in `parts`: `/extended/v3/blocks/{block_hash}/transactions`.
   */
  replacement: string | readonly string[] | null;
  /** Path of a related route, if no route replaces this one. Parameters are as in `replacement`. */
  related?: string;
  /** Parameters of the replacement that are derived from the request, by name; a function returns null if it can't derive one. */
  parts?: Readonly<Record<string, (textOf: SentText) => string | null>>;
}

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
  const targets = [
    ...successors.map((template) => ({ relation: 'successor-version', template })),
    ...(related === undefined ? [] : [{ relation: 'related', template: related }]),
  ];
  const sunsetDate = sunset === null ? null : new Date(sunset).toUTCString();

  function links(url: string): string {
    const { sent, normalized } = parameters.of(url);
    const textOf: SentText = (name) => (parts[name] === undefined ? normalized(name) : parts[name](sent));
    return targets
      .flatMap(({ relation, template }) => {
        const target = filled(template, textOf);
        return target === null ? [] : `<${target}>; rel="${relation}"`;
      })
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
      const instead = successors.join(', ');
      const message = `This endpoint is gone${instead === '' ? '' : `; use ${instead}`}`;
      return addHeaders(respond.json(410, problem(410, message, 'GONE')), request);
    },
  };
}

/** Fills the parameters of a path; null if one has no value. */
function filled(template: string, textOf: SentText): string | null {
  const values = [...template.matchAll(PARAMETER)].map(([, name = '']) => textOf(name));
  if (values.includes(null)) return null;
  return template.replace(PARAMETER, () => encodeURIComponent(values.shift() ?? ''));
}
