/** How a route is declared, and what a declaration becomes. */
import type { Static, TProperties, TSchema, TUndefined } from '@sinclair/typebox';
import type { AnyElysia } from 'elysia';
import { lazy } from '../base/cache.ts';
import type { atMost, Turns } from '../base/turns.ts';
import type { Reader } from '../store/read/index-reader.ts';
import type { Snapshots } from '../store/read/snapshots.ts';
import { checkedBody, checkedError } from './checker.ts';
import { type Deprecation, type DeprecationPolicy, deprecatedRoute } from './deprecation.ts';
import { ApiError, type ErrorShape, type Failure, UnknownRouteError } from './errors.ts';
import { type ETagKind, namesTag } from './etag.ts';
import type { Forward } from './forward.ts';
import { type Heights, NotedHeight } from './heights.ts';
import { jsonParts } from './json.ts';
import { operation, type Refusals } from './openapi.ts';
import { isOwnPath, pathReader, queryReader, refuseUnknown, type Values } from './parameters.ts';
import { bodyReader } from './request-body.ts';
import { pathAndQuery, pathStart } from './request-url.ts';
import type { Responder } from './respond.ts';
import type { ResponseCache } from './response-cache.ts';
import { inParts, Streamed, streamedResponse } from './streamed.ts';

/** What requests are counted by. */
export interface RequestMetrics {
  /**
   * Begins to count the requests of a route.
   * @param pattern of the route, never a path, of which there are endlessly many
   * @returns called for each answer with its status and its milliseconds
   */
  route(method: string, pattern: string): (status: number, milliseconds: number) => void;
}

/** Counts nothing. */
export const uncounted: RequestMetrics = { route: () => () => {} };

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'ALL';

/** What a request asks, read and checked. */
interface Asked<P extends TProperties, Q extends TProperties, Sent extends TSchema, Caller> {
  params: Values<P>;
  query: Values<Q>;
  body: Static<Sent>;
  /** What `access` makes of the request. */
  caller: Caller;
  /** Path and query of the request. */
  target: string;
  request: Request;
  /** The address that the request came from, empty where it isn't known. */
  clientAddress: () => string;
}

/**
 * Who asks, and in whose name. Called before anything of the request is read; what it returns is called once the
 * parameters are.
 * @param clientAddress empty where it isn't known
 * @throws ApiError, as does the function it returns
 */
export type Access<Params, Caller> = (request: Request, clientAddress: string) => (params: Params) => Caller;

/** What a handler may answer besides the body: elsewhere, what another server answered, or the body in parts. */
type Answered<B extends TSchema> = Static<B> | Redirect | Response | Streamed;

interface Declaration<
  P extends TProperties,
  Q extends TProperties,
  B extends TSchema,
  Sent extends TSchema,
  Caller,
  Snapshot extends boolean,
> {
  /** GET if not given. Answers to others are never tagged or stored. */
  method?: Method;
  /** The path as OpenAPI writes it: `/extended/v3/transactions/{tx_id}`; `*` at its end stands for any path. */
  path: string;
  operationId: string;
  /** A few words, as a table of contents has them. */
  summary: string;
  /** Sentences: what is returned, in which order, and what is special. Every route of the document has one. */
  description?: string;
  tag: string;
  /** Left out of the document. */
  hidden?: boolean;
  params?: P;
  query?: Q;
  /** Schema of the JSON body; a route without one ignores the body of a request. */
  body?: Sent;
  /** A body that isn't there is `{}`. */
  optionalBody?: boolean;
  /** What the handler reads and checks by itself, for the document. */
  described?: { query?: TProperties; body?: TSchema };
  response: B;
  /** 200 if not given; 204 has no body. */
  status?: 202 | 204;
  /** The response is a text, and sent as it is instead of as JSON. */
  plainText?: boolean;
  /** Content types that a request can ask for besides JSON, with what the body is then; for the document. */
  otherTypes?: Readonly<Record<string, string>>;
  /** What a 404 of this route means, where it has one. */
  notFound?: string;
  /** The body of a 404, where it is another than that of other errors. */
  notFoundBody?: TSchema;
  /** What other statuses of errors mean here, by status. */
  refusals?: Refusals;
  /** What errors look like; {@link problems} if not given. */
  errors?: ErrorShape;
  /** What a 302 of this route means, where it answers {@link Redirect}. */
  redirects?: string;
  /** What a deprecated route says of its end and its successors. */
  deprecated?: Deprecation;
  /** Where a request is to be made instead, for one that names its subject in a form of old; null for others. */
  moved?: (url: string) => string | null;
  /** Null for an answer that must not be stored. */
  etag: ETagKind<Values<P>> | null;
  /** Everybody may ask if not given. Answers of a route with access are never tagged: its `etag` is null. */
  access?: Access<Values<P>, Caller>;
  /** False where nothing of the index is read. */
  snapshot?: Snapshot;
  /** Reading may take several turns: few such requests are read at a time, since each has a snapshot meanwhile. */
  long?: boolean;
  /** Only the main thread can answer, which is the one that writes. */
  mainThread?: boolean;
  /** What the requests of a route with `*` are counted by; its path if not given. */
  countedAs?: (request: Request) => string;
  handle(
    asked: Asked<P, Q, Sent, Caller> & { read: Snapshot extends false ? undefined : Reader },
  ): Promise<Answered<B>> | Answered<B>;
}

/** A declaration and a request for it, whatever their types are: a handler alone needs to know them. */
type AnyDeclaration = Declaration<TProperties, TProperties, TSchema, TSchema, unknown, boolean>;
type AnyAsked = Asked<TProperties, TProperties, TSchema, unknown>;

/** What a handler answers where the request is to be made elsewhere. */
export class Redirect {
  /** @param location a path of this server, or a URL */
  constructor(
    readonly location: string,
    readonly status: 301 | 302 = 302,
  ) {}
}

type NoParameters = Record<never, TSchema>;

/** What routes need of the application. */
export interface RouteContext {
  /** Reads the parts of answers that are sent while they are made. */
  snapshots: Snapshots;
  /** Reads whatever else is answered. */
  heights: Heights;
  respond: Responder;
  /** A whole tag of the state that an answer depends on. */
  tag: (state: string) => string;
  failure: Failure;
  cache: ResponseCache;
  deprecation: DeprecationPolicy;
  /** The clock, in Unix milliseconds. */
  now: () => number;
  /** Shares the thread among what is long in making. */
  turns: Turns;
  /** Runs a request that is long in reading, when it is its turn. */
  longRead: ReturnType<typeof atMost>;
  metrics: RequestMetrics;
  /** The address a request came from. */
  clientAddress: (request: Request) => string;
  /** Answers what only the main thread can, where there are several threads. */
  mainThread?: Forward;
  /** Whether each body is held against its schema. For tests: it costs more than most queries. */
  checkResponses: boolean;
}

export interface Route {
  method: Method;
  path: string;
  deprecated: Deprecation | null;
  mainThread: boolean;
  /** Whether the index is read. */
  snapshot: boolean;
  countedAs: ((request: Request) => string) | null;
  /** Left out of the document. */
  hidden: boolean;
  /** The route's entry of the document. It is made when somebody asks for it, since most servers are never asked. */
  readonly detail: ReturnType<typeof operation>;
  /** The route's answer to any request for it; never rejects. */
  serve(context: RouteContext): (request: Request) => Promise<Response>;
}

/**
 * Makes a route of its declaration.
 * @throws Error where answers that depend on who asks could be cached, or a tag names a state that isn't read
 */
export function route<
  B extends TSchema,
  P extends TProperties = NoParameters,
  Q extends TProperties = NoParameters,
  Sent extends TSchema = TUndefined,
  Caller = undefined,
  Snapshot extends boolean = true,
>(typed: Declaration<P, Q, B, Sent, Caller, Snapshot>): Route {
  const declaration = typed as unknown as AnyDeclaration;
  const { method = 'GET', path, moved, errors, deprecated = null, hidden = false } = declaration;
  const { mainThread = false, snapshot = true, countedAs = null } = declaration;
  if (declaration.access !== undefined && declaration.etag !== null) {
    throw new Error(`${path} has access and a tag, but a cached answer would be sent to whoever asks for the URL`);
  }
  if (declaration.snapshot === false && declaration.etag !== null) {
    throw new Error(`${path} has a tag and no snapshot, but a tag names a state of the index`);
  }
  return {
    method,
    path,
    deprecated,
    mainThread,
    snapshot,
    countedAs,
    hidden,
    get detail() {
      return operation(declaration);
    },
    serve(context) {
      const readers = lazy(() => readersOf(declaration));
      const { heights, respond, failure, deprecation, now, clientAddress } = context;
      const { currentTag, answer } = answering(declaration, context);
      /** Redirects with the tag of what is found there. The parameters are checked here as the route there would check them. */
      const redirect = async (location: string, request: Request, noted: NotedHeight): Promise<Response> => {
        const params = readers().readParams(request.url.slice(0, pathStart(request.url)) + location);
        return respond.redirect(302, location, await heights.read(request, noted, (read) => currentTag(read, params)));
      };
      const answerOrFailure = async (request: Request): Promise<Response> => {
        const noted = new NotedHeight();
        try {
          const elsewhere = moved?.(request.url) ?? null;
          if (elsewhere !== null) return noted.named(await redirect(elsewhere, request, noted));
          return noted.named(await answer(await readers().readAsked(request, clientAddress), noted));
        } catch (error) {
          const response = noted.named(failure(error, request, errors));
          if (context.checkResponses && !(error instanceof UnknownRouteError))
            await checkedError(path, operation(declaration).responses, response);
          return response;
        }
      };
      if (deprecated === null) return answerOrFailure;
      const { gone, mark } = deprecatedRoute(declaration, deprecated, deprecation, respond, now);
      return async (request) => gone(request) ?? mark(await answerOrFailure(request), request);
    },
  };
}

/** What reads the parameters of a route's path, and all that a request for it asks. */
function readersOf(declaration: AnyDeclaration) {
  const readParams = pathReader(declaration.path, declaration.params ?? {});
  return { readParams, readAsked: askedReader(declaration, readParams) };
}

/** What reads a request: who asks, then the parameters, then in whose name, then the body. Throws ApiError. */
function askedReader(
  { path, query = {}, described, body, optionalBody = false, access }: AnyDeclaration,
  readParams: (url: string) => AnyAsked['params'],
) {
  const documented = Object.keys(described?.query ?? query);
  const readQuery = queryReader(query, isOwnPath(path) ? refuseUnknown(documented) : undefined);
  const readBody = body === undefined ? null : bodyReader(body, optionalBody);
  return async (request: Request, addressOf: (request: Request) => string): Promise<AnyAsked> => {
    const admit = access?.(request, addressOf(request));
    const params = readParams(request.url);
    const asked = readQuery(request.url);
    return {
      params,
      query: asked,
      caller: admit?.(params),
      body: await readBody?.(request),
      target: pathAndQuery(request.url),
      request,
      clientAddress: () => addressOf(request),
    };
  };
}

/** What answers a request that was read, with the tag of the state that the answer depends on. */
function answering(
  declaration: AnyDeclaration,
  { snapshots, heights, respond, tag: whole, cache, turns, longRead, failure, checkResponses }: RouteContext,
) {
  const { method = 'GET', path, response, status = 200, plainText = false, snapshot = true } = declaration;
  const etag = method === 'GET' ? declaration.etag : null;
  const success = plainText ? respond.plainText : respond.jsonText;

  /** Null for an answer that must not be stored. */
  async function currentTag(read: Reader, params: AnyAsked['params']): Promise<string | null> {
    const state = etag === null ? null : await etag(read, params);
    return state === null ? null : whole(state);
  }

  async function textOf(body: unknown): Promise<string[]> {
    const json = await jsonParts(body, turns.longWork());
    if (checkResponses) checkedBody(path, response, json.join(''));
    return plainText ? [String(body)] : json;
  }

  /** An answer that is sent in parts, without its length: HEAD makes none of them. */
  function sentInParts(made: Response, { request: { method: asked } }: AnyAsked): Response {
    if (asked !== 'HEAD') return made;
    const answer = new Response(null, { status: made.status, headers: made.headers });
    answer.headers.set('transfer-encoding', 'chunked');
    return answer;
  }

  function streamed(body: Streamed, { request }: AnyAsked): Response {
    const failed = (error: unknown) => failure(error, request, declaration.errors);
    const turn = () => turns.behindOthers();
    return respond.passedOn(streamedResponse(body, { read: snapshots.read, turn, failure: failed }));
  }

  /** @param store is given the text of an answer that may be cached */
  async function finished(
    answered: unknown,
    asked: AnyAsked,
    tag: string | null,
    store?: (text: string) => void,
  ): Promise<Response> {
    if (answered instanceof Streamed) return sentInParts(streamed(answered, asked), asked);
    if (answered instanceof Redirect) return respond.redirect(answered.status, answered.location, tag);
    if (answered instanceof Response) return respond.passedOn(answered);
    if (status === 204) return respond.noContent();
    const [text = '', ...others] = await textOf(answered);
    if (others.length > 0) return sentInParts(success(status, inParts([text, ...others], turns), tag), asked);
    store?.(text);
    return success(status, text, tag);
  }

  /** Reads what answers a request. @returns what makes the answer of it, for which nothing more is read */
  async function readFor(read: Reader, asked: AnyAsked): Promise<() => Response | Promise<Response>> {
    const tag = await currentTag(read, asked.params);
    if (tag !== null && namesTag(asked.request.headers.get('if-none-match'), tag))
      return () => respond.notModified(tag);
    // An index that was made anew may have another history of the same chain.
    const cacheTag = `${read.file} ${tag}`;
    const known = tag === null ? undefined : cache.get(asked.target, cacheTag);
    if (known !== undefined) return () => success(200, known, tag);
    const answered = await declaration.handle({ ...asked, read });
    const store = tag === null ? undefined : (text: string) => cache.set(asked.target, cacheTag, text);
    return () => finished(answered, asked, tag, store);
  }

  const read = (asked: AnyAsked, noted: NotedHeight) =>
    heights.read(asked.request, noted, (reader) => readFor(reader, asked));
  const readLong = (asked: AnyAsked, noted: NotedHeight) =>
    longRead(() => {
      if (asked.request.signal.aborted)
        throw new ApiError(503, 'The client closed the connection before the request was handled');
      return read(asked, noted);
    });

  const answer = snapshot
    ? async (asked: AnyAsked, noted: NotedHeight) => {
        const made = await (declaration.long === true ? readLong : read)(asked, noted);
        return made();
      }
    : async (asked: AnyAsked) => finished(await declaration.handle({ ...asked, read: undefined }), asked, null);
  return { currentTag, answer };
}

/** Parameters by their place: the router takes no two names for one place, and reads no values for us. */
const routerPath = (path: string): string =>
  path
    .split('/')
    .map((segment, place) => (segment.startsWith('{') ? `:p${place}` : segment))
    .join('/');

/** Counts the requests of a route. */
function counter({ method, path, countedAs }: Route, metrics: RequestMetrics) {
  if (countedAs === null) {
    const answered = metrics.route(method, path);
    return (_: Request, status: number, milliseconds: number) => answered(status, milliseconds);
  }
  const known = new Map<string, ReturnType<RequestMetrics['route']>>();
  return (request: Request, status: number, milliseconds: number) => {
    const pattern = countedAs(request);
    const key = `${request.method} ${pattern}`;
    const answered = known.get(key) ?? metrics.route(request.method, pattern);
    known.set(key, answered);
    answered(status, milliseconds);
  };
}

/** What HEAD is answered by the routes of GET, until {@link answersHead} sends it. */
const headAnswers = new WeakMap<Request, Response>();

/** The answer to GET without its body, with the length that GET names; one that is sent in parts has none. */
async function withoutBody(answer: Response): Promise<Response> {
  const { status, headers } = answer;
  if (answer.body !== null && !headers.has('content-length') && !headers.has('transfer-encoding')) {
    headers.set('content-length', String((await answer.bytes()).length));
  }
  return new Response(null, { status, headers });
}

/**
 * Answers HEAD with what the route of GET says. The framework finds that route, but reads the body of its answer to the
 * end, and names a length even where GET doesn't. For {@link AnyElysia.wrap}.
 */
export function answersHead<T extends (request: Request) => unknown>(handle: T, { method }: Request) {
  if (method !== 'HEAD') return handle;
  return async (request: Request) => {
    const answer = await handle(request);
    return headAnswers.get(request) ?? answer;
  };
}

/**
 * Adds the routes of one resource. HEAD needs no route: the framework finds that of GET, and {@link answersHead} answers.
 *
 * They are no plugin of their own, since the framework adds each route of a plugin to the plugin and then to the application.
 * @returns the application
 */
export function addRoutes(app: AnyElysia, context: RouteContext, routes: readonly Route[]): AnyElysia {
  for (const declared of routes) {
    const { method, path, serve, mainThread } = declared;
    const respond = (mainThread ? context.mainThread : undefined) ?? serve(context);
    const count = counter(declared, context.metrics);
    const counted = async (request: Request): Promise<Response> => {
      const start = performance.now();
      const response = await respond(request);
      count(request, response.status, performance.now() - start);
      if (request.method !== 'HEAD' || method !== 'GET') return response;
      headAnswers.set(request, await withoutBody(response));
      return new Response(null);
    };
    app.route(method, routerPath(path), ({ request }) => counted(request), { parse: 'none' });
  }
  return app;
}
