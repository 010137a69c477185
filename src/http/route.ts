/** How a route is declared, and what a declaration becomes. */
import type { Static, TProperties, TSchema, TUndefined } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import type { Faucets } from '../faucets/faucets.ts';
import type { Reader } from '../store/read/index-reader.ts';
import type { Snapshots } from '../store/read/snapshots.ts';
import { bodyReader } from './body.ts';
import { type Deprecation, type DeprecationPolicy, deprecatedRoute } from './deprecation.ts';
import { bareError, type Failure } from './errors.ts';
import { type ETagKind, namesTag } from './etag.ts';
import { jsonOf } from './json.ts';
import { operation } from './openapi.ts';
import { pathReader, queryReader, type Values } from './parameters.ts';
import type { RequestMetrics } from './request-metrics.ts';
import { pathAndQuery, pathStart } from './request-url.ts';
import type { Responder } from './respond.ts';
import type { ResponseCache } from './response-cache.ts';
import { checkedBody } from './response-check.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface Declaration<P extends TProperties, Q extends TProperties, B extends TSchema, Sent extends TSchema> {
  /** GET if not given. Answers to others are never tagged or stored. */
  method?: Method;
  /** As OpenAPI writes it: `/extended/v3/transactions/{tx_id}`. */
  path: string;
  operationId: string;
  summary: string;
  description?: string;
  tag: string;
  params?: P;
  query?: Q;
  /** Of the JSON body; a route without takes none, and what is sent is ignored. */
  body?: Sent;
  response: B;
  /** The response is a text, and sent as it is instead of as JSON. */
  plainText?: boolean;
  /** What a 404 of this route means, where it has one. */
  notFound?: string;
  /** Errors are `{error}` alone, as clients of the route know them. */
  bareErrors?: boolean;
  /** What a 302 of this route means, where it answers {@link OtherServer}. */
  redirects?: string;
  /** For a route that is on its way out. */
  deprecated?: Deprecation;
  /** Where a request is to be made instead, for one that names its subject in a form of old; null for others. */
  moved?: (url: string) => string | null;
  /** Null for an answer that must not be stored. */
  etag: ETagKind<Values<P>> | null;
  handle(request: {
    params: Values<P>;
    query: Values<Q>;
    body: Static<Sent>;
    read: Reader;
    /** Path and query of the request. */
    target: string;
  }): Promise<Static<B> | OtherServer> | Static<B> | OtherServer;
}

/** What a handler answers where another server knows more: the request is to be made there. */
export class OtherServer {
  /** @param location URL of the request on that server */
  constructor(readonly location: string) {}
}

type NoParameters = Record<never, TSchema>;

/** What routes need of the application. */
export interface RouteContext {
  snapshots: Snapshots;
  respond: Responder;
  /** A whole tag of the state that an answer depends on. */
  tag: (state: string) => string;
  failure: Failure;
  cache: ResponseCache;
  deprecation: DeprecationPolicy;
  /** The clock, in Unix milliseconds. */
  now: () => number;
  metrics: RequestMetrics;
  faucets: Faucets;
  /** The address a request came from. */
  clientAddress: (request: Request) => string;
  /** In one of several threads: answers what only the main one can. */
  mainThread?: (request: Request) => Promise<Response>;
  /** Whether each body is held against its schema. For tests: it costs more than most queries. */
  checkResponses: boolean;
}

export interface Route {
  method: Method;
  path: string;
  deprecated: Deprecation | null;
  /** Whether only the main thread can answer it, which is the one that writes. */
  mainThread?: boolean;
  detail: ReturnType<typeof operation> & { hide?: boolean };
  /** The route's answer to any request for it; never rejects. */
  serve(context: RouteContext): (request: Request) => Promise<Response>;
}

export function route<
  B extends TSchema,
  P extends TProperties = NoParameters,
  Q extends TProperties = NoParameters,
  Sent extends TSchema = TUndefined,
>(declaration: Declaration<P, Q, B, Sent>): Route {
  const { method = 'GET', path, handle, response, moved, plainText = false, deprecated = null } = declaration;
  const errorBody = declaration.bareErrors === true ? bareError : undefined;
  const etag = method === 'GET' ? declaration.etag : null;
  const readBody = declaration.body === undefined ? null : bodyReader(declaration.body);
  const readParams = pathReader(path, declaration.params ?? ({} as P));
  const queryNames = Object.keys(declaration.query ?? {});
  const readQuery = queryReader(declaration.query ?? ({} as Q));
  return {
    method,
    path,
    deprecated,
    detail: operation(declaration),
    serve: ({ snapshots, respond, tag: whole, failure, cache, deprecation, now, checkResponses }) => {
      /** Null for an answer that must not be stored. */
      const currentTag = async (read: Reader, params: Values<P>): Promise<string | null> => {
        const state = etag === null ? null : await etag(read, params);
        return state === null ? null : whole(state);
      };
      const success = plainText ? respond.plainText : respond.jsonText;
      const answer = async (
        request: Request,
        { params, query, body }: { params: Values<P>; query: Values<Q>; body: Static<Sent> },
        read: Reader,
      ) => {
        const tag = await currentTag(read, params);
        if (tag !== null && namesTag(request.headers.get('if-none-match'), tag)) return respond.notModified(tag);
        const url = pathAndQuery(request.url);
        // An index that was made anew may tell another story of the same chain.
        const cacheTag = tag === null ? null : `${read.file} ${tag}`;
        const known = cacheTag === null ? undefined : cache.get(url, cacheTag);
        if (known !== undefined) return success(200, known, tag);
        const answered = await handle({ params, query, body, read, target: url });
        if (answered instanceof OtherServer) return respond.redirect(302, answered.location, tag);
        const json = jsonOf(answered);
        if (checkResponses) checkedBody(path, response, json);
        const text = plainText ? String(answered) : json;
        if (cacheTag !== null) cache.set(url, cacheTag, text);
        return success(200, text, tag);
      };
      /** With the tag of what is found there. What the route there would refuse, it refuses here. */
      const redirect = async (location: string, { url }: Request): Promise<Response> => {
        const params = readParams(url.slice(0, pathStart(url)) + location);
        const tag = etag === null ? null : await snapshots.read((read) => currentTag(read, params));
        return respond.redirect(302, location, tag);
      };
      const answerOrFailure = async (request: Request): Promise<Response> => {
        try {
          const elsewhere = moved?.(request.url) ?? null;
          if (elsewhere !== null) return await redirect(elsewhere, request);
          const params = readParams(request.url);
          const query = readQuery(request.url);
          const body = readBody === null ? undefined : await readBody(request);
          return await snapshots.read((read) => answer(request, { params, query, body }, read));
        } catch (error) {
          return failure(error, request, errorBody);
        }
      };
      if (deprecated === null) return answerOrFailure;
      const { gone, mark } = deprecatedRoute(path, queryNames, deprecated, deprecation, respond, now);
      return async (request) => gone(request) ?? mark(await answerOrFailure(request), request);
    },
  };
}

/** What stands in the router for a route's entry of the OpenAPI document, of which {@link ./docs.ts} makes the document. */
export const DECLARED = 'x-declared';

export interface Declared {
  /** With the parameters' names. */
  path: string;
  operation: Route['detail'];
}

/** Parameters by their place: the router takes no two names for one place, and reads no values for us. */
const routerPath = (path: string): string =>
  path
    .split('/')
    .map((segment, place) => (segment.startsWith('{') ? `:p${place}` : segment))
    .join('/');

/** The routes of one resource. HEAD needs no route: the framework answers it from GET. */
export function resource(context: RouteContext, routes: readonly Route[]): AnyElysia {
  const plugin = new Elysia();
  for (const { method, path, detail, serve, mainThread = false } of routes) {
    const respond = (mainThread ? context.mainThread : undefined) ?? serve(context);
    const done = context.metrics.route(method, path);
    const timed = async (request: Request): Promise<Response> => {
      const start = performance.now();
      const response = await respond(request);
      done(response.status, performance.now() - start);
      return response;
    };
    const hidden = detail.hide === true ? { hide: true } : {};
    const documented = { summary: detail.summary, ...hidden, [DECLARED]: { path, operation: detail } };
    plugin.route(method, routerPath(path), ({ request }) => timed(request), { detail: documented });
  }
  return plugin;
}
