/** Applications that check their JSON responses by the schemas of the OpenAPI document. */
import type { TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { AnyElysia } from 'elysia';
import { lazy } from '../../../src/base/cache.ts';
import { appOf } from './app.ts';

/** Hashes of the bodies that each schema has accepted: tests often get the same answer again. */
const acceptedBodies = new WeakMap<TSchema, Set<number | bigint>>();

/** Checks a JSON body. @throws Error for a wrong or missing value, and for a member that the schema doesn't have */
export function checkedBody(path: string, schema: TSchema, text: string): void {
  const accepted = acceptedBodies.get(schema) ?? new Set();
  const hash = Bun.hash(text);
  if (accepted.has(hash)) return;
  const body: unknown = JSON.parse(text);
  if (!Value.Check(schema, body)) {
    const error = Value.Errors(schema, body).First();
    throw new Error(`${path} answers at ${error?.path || '/'}: ${error?.message}, got ${text.slice(0, 500)}`);
  }
  const declared = Value.Clean(schema, Value.Clone(body));
  if (!Value.Equal(declared, body)) {
    const extra = JSON.stringify(Value.Diff(declared, body).filter(({ type }) => type === 'insert'));
    throw new Error(`${path} returned members that its schema lacks: ${extra}`);
  }
  acceptedBodies.set(schema, accepted.add(hash));
}

type Responses = Readonly<Record<string, { content?: Record<string, { schema: TSchema }> }>>;

/** Ranks a path for a request: a literal segment comes before a parameter, and a parameter before `*`; null if it doesn't match. */
function rank(pattern: readonly string[], path: readonly string[]): string | null {
  if (pattern.length !== path.length && pattern.at(-1) !== '*') return null;
  let ranks = '';
  for (const [index, segment] of pattern.entries()) {
    if (segment === '*') return `${ranks}2`;
    if (path[index] === undefined || (!segment.startsWith(':') && segment !== path[index])) return null;
    ranks += segment.startsWith(':') ? '1' : '0';
  }
  return ranks;
}

/** Makes an application check its JSON responses. No route declares internal errors, and none declares unknown paths. */
export function withCheckedResponses<App extends AnyElysia>(app: App): App {
  const routes = app.routes.map(({ method, path, hooks }) => ({
    method,
    path,
    segments: path.split('/'),
    // A route computes its responses when they are read.
    responses: lazy(() => (hooks as { detail?: { responses?: Responses } }).detail?.responses),
  }));
  type MatchingRoute = (typeof routes)[number];
  /** Routes by their number of segments; null for those that end with `*`. */
  const byLength = Map.groupBy(routes, ({ segments }) => (segments.at(-1) === '*' ? null : segments.length));

  /** Returns the route of a path; undefined if there is none. */
  function routeOf(method: string, path: string): MatchingRoute | undefined {
    const segments = path.replace(/\/$/, '').split('/');
    let best: { route: MatchingRoute; ranked: string } | undefined;
    for (const route of [...(byLength.get(segments.length) ?? []), ...(byLength.get(null) ?? [])]) {
      if (route.method !== method && route.method !== 'ALL') continue;
      const ranked = rank(route.segments, segments);
      if (ranked !== null && (best === undefined || ranked < best.ranked)) best = { route, ranked };
    }
    return best?.route;
  }

  function check(request: Request, status: number, text: string): void {
    const match = routeOf(request.method, new URL(request.url).pathname);
    const responses = match?.responses();
    if (match === undefined || responses === undefined) return;
    const schema = responses[status]?.content?.['application/json']?.schema;
    const place = status < 400 ? match.path : `${match.path} with ${status}`;
    if (schema === undefined) throw new Error(`${place} declares no body, got ${text}`);
    checkedBody(place, schema, text);
  }

  const { fetch } = app;
  const checkedFetch = async (request: Request): Promise<Response> => {
    const response = await fetch(request);
    const { status, headers } = response;
    const isJson = headers.get('content-type')?.startsWith('application/json') === true;
    if (!isJson || status === 500 || headers.has('content-encoding') || /^(HEAD|OPTIONS)$/.test(request.method))
      return response;
    const text = await response.clone().text();
    if (!text.includes('"message":"Route ')) check(request, status, text);
    return response;
  };
  return Object.defineProperty(app, 'fetch', { value: checkedFetch });
}

/** Creates the application of a server, with checked responses. */
export const checkedApp = (options: Parameters<typeof appOf>[0]): ReturnType<typeof appOf> =>
  withCheckedResponses(appOf(options));
