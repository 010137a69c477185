/** Route declarations, and the handlers made from them. */
import type { Static, TProperties, TSchema, TUndefined } from '@sinclair/typebox';
import type { AnyElysia } from 'elysia';
import { lazy } from '../base/cache.ts';
import type { atMost, Turns } from '../base/turns.ts';
import type { Reader } from '../store/read/index-reader.ts';
import type { Snapshots } from '../store/read/snapshots.ts';
import { codingFor, compress, MIN_COMPRESSED_LENGTH } from './content-coding.ts';
import { type Deprecation, type DeprecationPolicy, deprecationNotice } from './deprecation.ts';
import { ApiError, type Failure } from './errors.ts';
import { type ETagKind, namesTag } from './etag.ts';
import type { Forward } from './forward.ts';
import { HEIGHT_HEADER, type Heights, minimumHeight, type SnapshotHeight } from './heights.ts';
import { type AskAccount, errorSince, type HistoryRequirement, requireHistory } from './history.ts';
import { jsonParts } from './json.ts';
import { type DescribedRoute, operation } from './openapi.ts';
import { isOwnPath, pathReader, queryReader, refuseUnknown, type Values } from './parameters.ts';
import type { RateLimiter } from './rate-limit.ts';
import { bodyReader } from './request-body.ts';
import { pathAndQuery, pathStart } from './request-url.ts';
import { inParts, type Responder, Streamed, streamedResponse, withHeaders } from './respond.ts';
import type { ResponseCache } from './response-cache.ts';

export interface RequestMetrics {
  /**
   * Registers a route.
   * @param pattern the route's pattern, never a request's path: there are too many paths
   * @returns a function to call for each response with its status and duration in milliseconds
   */
  route(method: string, pattern: string): (status: number, milliseconds: number) => void;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'ALL';

interface RouteTypes {
  params: TProperties;
  query: TProperties;
  body: TSchema;
  response: TSchema;
  caller: unknown;
  snapshot: boolean;
  history: HistoryRequirement;
  long: boolean;
}

interface RouteRequest<Types extends RouteTypes = RouteTypes> {
  params: Values<Types['params']>;
  query: Values<Types['query']>;
  body: Static<Types['body']>;
  /** The result of `access`. */
  caller: Types['caller'];
  /** Path and query of the request. */
  target: string;
  request: Request;
  /** The client's address; empty if it is unknown. */
  clientAddress: () => string;
}

/**
 * Authenticates a request, before any part of it is parsed. The function it returns authorizes the request, once its
 * parameters are parsed, and returns the caller.
 * @param clientAddress empty if it is unknown
 * @throws ApiError, as does the function it returns
 */
export type Access<Params, Caller> = (request: Request, clientAddress: string) => (params: Params) => Caller;

/** The result of a handler: the body, a redirect, another server's response, or a body in parts. */
type HandlerResult<Types extends RouteTypes> = Static<Types['response']> | Redirect | Response | Streamed;

/** The result of a handler. One that reads the index in one turn returns no promise, since its snapshot ends then. */
type HandlerReturn<Types extends RouteTypes> = Types extends {
  snapshot: true;
  history: Exclude<HistoryRequirement, 'account'>;
  long: false;
}
  ? HandlerResult<Types>
  : HandlerResult<Types> | Promise<HandlerResult<Types>>;

type ReaderOf<Snapshot extends boolean> = Snapshot extends false ? undefined : Reader;

interface Declaration<Types extends RouteTypes = RouteTypes> extends DescribedRoute {
  /** Default: GET. Responses to other methods are never tagged or stored. */
  method?: Method;
  params?: Types['params'];
  query?: Types['query'];
  body?: Types['body'];
  response: Types['response'];
  deprecated?: Deprecation;
  /** The location for a request that has its id in an old form; null for other requests. */
  moved?: (url: string) => string | null;
  /** Null for answers that must not be stored. */
  etag: ETagKind<Values<Types['params']>> | null;
  history: Types['history'];
  /** Default: the route is public. Answers of a route with access are never tagged: its `etag` must be null. */
  access?: Access<Values<Types['params']>, Types['caller']>;
  snapshot?: Types['snapshot'];
  /** Reading may take several turns. Few such requests run at a time, since each holds a snapshot. */
  long?: Types['long'];
  /**
   * Number of requests that one request counts as for rate limits. Default: 0 for a route with `access`, which has separate
   * keys, {@link LONG_COST} for another `long` route, else 1.
   */
  cost?: number;
  /** Only the main thread, which writes, can answer. */
  mainThread?: boolean;
  /** Pattern in the metrics for a request of a route with `*` (default: the route's path). */
  countedAs?: (request: Request) => string;
  handle(
    parsed: RouteRequest<Types> & {
      read: ReaderOf<Types['snapshot']>;
      /** For {@link withUntouched}. */
      askAccount: AskAccount | null;
    },
  ): HandlerReturn<Types>;
}

/** The declaration of a route that doesn't read the index. */
export const WITHOUT_INDEX = { etag: null, history: 'none', snapshot: false } as const;

export class Redirect {
  /** @param location a path of this server, or a URL */
  constructor(
    readonly location: string,
    readonly status: 301 | 302 = 302,
  ) {}
}

type NoParameters = Record<never, TSchema>;

export interface RouteContext {
  /** For streamed answers. */
  snapshots: Snapshots;
  /** For all other answers. */
  heights: Heights;
  respond: Responder;
  /** Makes a whole ETag from the state that an answer depends on. */
  tag: (state: string) => string;
  failure: Failure;
  cache: ResponseCache;
  deprecation: DeprecationPolicy;
  /** The clock, in Unix milliseconds. */
  now: () => number;
  /** Shares the thread among answers that take long to make. */
  turns: Turns;
  /** Runs a request of a `long` route when it is its turn. */
  longRead: ReturnType<typeof atMost>;
  metrics: RequestMetrics;
  clientAddress: (request: Request) => string;
  /** Counts the requests of clients; null if they are unlimited. */
  limiter: Pick<RateLimiter, 'clientOf' | 'charge'> | null;
  /** In an API thread: forwards a request to the main thread. */
  mainThread?: Forward;
  /** Requests untouched accounts from the node; null if there is no node. */
  askAccount: AskAccount | null;
  /** Returns the state of the server in sentences; null if it is unknown. */
  standing: () => Promise<string | null>;
}

/** Number of requests that one request of a `long` route counts as. */
const LONG_COST = 10;

function costOf({ cost, long = false, access }: Declaration): number {
  if (cost !== undefined) return cost;
  if (access !== undefined) return 0;
  return long ? LONG_COST : 1;
}

type RouteSettings = Required<
  Pick<Declaration, 'method' | 'path' | 'query' | 'mainThread' | 'snapshot' | 'history' | 'hidden'>
>;

export interface Route extends RouteSettings {
  deprecated: Deprecation | null;
  countedAs: ((request: Request) => string) | null;
  detail: ReturnType<typeof operation>;
  /** Makes the handler of the route's requests; the handler neither throws nor rejects. */
  serve(context: RouteContext): (request: Request) => Answer;
}

/** A response, or a promise of it if it takes several turns: most requests take one. */
type Answer = Response | Promise<Response>;

/**
 * Makes a route from its declaration.
 * @throws Error if the route has both access and a tag, since cached answers would be sent to any caller, or if it lacks a
 * snapshot but has a tag or a history
 */
export function route<
  Body extends TSchema,
  Params extends TProperties = NoParameters,
  Query extends TProperties = NoParameters,
  Sent extends TSchema = TUndefined,
  Caller = undefined,
  Snapshot extends boolean = true,
  History extends HistoryRequirement = HistoryRequirement,
  Long extends boolean = false,
>(
  typedDeclaration: Declaration<{
    params: Params;
    query: Query;
    body: Sent;
    response: Body;
    caller: Caller;
    snapshot: Snapshot;
    history: History;
    long: Long;
  }>,
): Route {
  // Only the handler needs the types.
  const declaration = typedDeclaration as unknown as Declaration;
  const { method = 'GET', path, query = {}, deprecated = null, hidden = false } = declaration;
  const { mainThread = false, snapshot = true, history, countedAs = null } = declaration;
  if (declaration.access !== undefined && declaration.etag !== null) {
    throw new Error(`${path} has access and a tag, but a cached response would reach every client`);
  }
  if (!snapshot && declaration.etag !== null) {
    throw new Error(`${path} has a tag and no snapshot, but a tag names a state of the index`);
  }
  if (!snapshot && history !== 'none') {
    throw new Error(`${path} has a history and no snapshot, but only the index has a history`);
  }
  const settings = { method, path, query, deprecated, mainThread, snapshot, history, countedAs, hidden };
  return { ...settings, detail: operation(declaration), serve: (context) => requestHandler(declaration, context) };
}

/** The snapshot that a request was answered from, as the response describes it. */
interface SnapshotInfo extends SnapshotHeight {
  /** Null until the index is known to have the blocks that the route needs. */
  history: ReturnType<typeof requireHistory> | null;
}

/** Makes the handler of a route's requests. It neither throws nor rejects. */
function requestHandler(declaration: Declaration, context: RouteContext): (request: Request) => Answer {
  const { deprecated, errors } = declaration;
  const { failure, deprecation, clientAddress } = context;
  const answer = requestAnswerer(declaration, context);
  const cost = costOf(declaration);
  const limiter = cost === 0 ? null : context.limiter;
  const notice = deprecated === undefined ? null : deprecationNotice(declaration, deprecated, deprecation, context);
  return (request) => {
    const gone = notice?.goneResponse(request);
    if (gone !== undefined) return gone;
    const info: SnapshotInfo = { height: null, history: null };
    let quota: Record<string, string> | null = null;
    const finish = (response: Response): Response => {
      if (info.height !== null) response.headers.set(HEIGHT_HEADER, String(info.height));
      withHeaders(response, quota);
      return notice === null ? response : notice.addHeaders(response, request);
    };
    const succeed = (response: Response): Response => finish(withHeaders(response, info.history?.headers ?? null));
    const fail = (error: unknown): Response => {
      const from = info.history?.from ?? null;
      return finish(failure(from === null ? error : errorSince(error, from), request, errors));
    };
    try {
      quota = limiter?.charge(limiter.clientOf(request.headers, clientAddress(request)), cost) ?? null;
      const answered = answer(request, info);
      return answered instanceof Promise ? answered.then(succeed).catch(fail) : succeed(answered);
    } catch (error) {
      return fail(error);
    }
  };
}

/** Makes the parsers of a route's requests: authentication, parameters, authorization, then the body. They throw ApiError. */
function parsersOf(
  { path, params: paramSchemas = {}, query = {}, described, body, optionalBody = false, access }: Declaration,
  clientAddress: RouteContext['clientAddress'],
) {
  const readParams = pathReader(path, paramSchemas);
  const documented = Object.keys(described?.query ?? query);
  const readQuery = queryReader(query, isOwnPath(path) ? refuseUnknown(documented) : undefined);
  const readBody = body === undefined ? null : bodyReader(body, optionalBody);
  const parseRequest = (request: Request): RouteRequest => {
    const authorize = access?.(request, clientAddress(request));
    const params = readParams(request.url);
    const query = readQuery(request.url);
    return {
      params,
      query,
      caller: authorize?.(params),
      body: undefined,
      target: pathAndQuery(request.url),
      request,
      clientAddress: () => clientAddress(request),
    };
  };
  return { readParams, parseRequest, readBody };
}

/** Makes a response after the snapshot ended, so that serializing and compressing don't hold the snapshot. */
type MakeResponse = () => Answer;

interface Tags {
  etag: string;
  /** Tag of the cached text. It also names the index: a rebuilt one may have another history of the same chain. */
  cacheTag: string;
}

/** Makes the function that answers a request. It throws or rejects the errors of the route. */
function requestAnswerer(
  declaration: Declaration,
  context: RouteContext,
): (request: Request, info: SnapshotInfo) => Answer {
  const { method = 'GET', moved, snapshot = true, long = false, history } = declaration;
  const { heights, respond, tag, cache, longRead, askAccount, standing, clientAddress } = context;
  const parsers = lazy(() => parsersOf(declaration, clientAddress));
  const responses = responseMaker(declaration, context);
  const readState = method === 'GET' ? declaration.etag : null;

  function answer(request: Request, info: SnapshotInfo): Answer {
    const location = moved?.(request.url) ?? null;
    if (location !== null) return redirect(location, request, info);
    const { parseRequest, readBody } = parsers();
    const parsed = parseRequest(request);
    if (readBody === null) return answerParsed(parsed, info);
    return readBody(request).then((body) => answerParsed({ ...parsed, body }, info));
  }

  /** Redirects with the tag of the target's response. Parameters are checked first, as the target would check them. */
  function redirect(location: string, request: Request, info: SnapshotInfo): Answer {
    const params = parsers().readParams(request.url.slice(0, pathStart(request.url)) + location);
    const redirectWith = (etag: string | null): Response => respond.redirect(302, location, etag);
    if (minimumHeight(request) === 0) return redirectWith(heights.read(info, (reader) => currentTag(reader, params)));
    return heights.readLong(request, info, async (reader) => currentTag(reader, params)).then(redirectWith);
  }

  /** Reads the index in this turn if possible: most requests do. */
  function answerParsed(parsed: RouteRequest, info: SnapshotInfo): Answer {
    if (!snapshot) return answerWithoutIndex(parsed);
    if (long || minimumHeight(parsed.request) > 0) return answerLater(parsed, info);
    const makeResponse = heights.read(info, (reader) => {
      const mayAskNode = history === 'account' && reader.chain.historyFrom() !== null;
      // Without the node, the handler of such a route returns no promise: see HandlerReturn.
      return mayAskNode ? null : (read(reader, parsed, info) as MakeResponse);
    });
    return makeResponse === null ? answerLater(parsed, info) : makeResponse();
  }

  async function answerWithoutIndex(parsed: RouteRequest): Promise<Response> {
    return responses.ofResult(await declaration.handle({ ...parsed, read: undefined, askAccount }), parsed, null);
  }

  /** Answers a request that may take several turns, or that waits for its minimum height or for the node. */
  async function answerLater(parsed: RouteRequest, info: SnapshotInfo): Promise<Response> {
    const { request } = parsed;
    const readIndex = () => heights.readLong(request, info, async (reader) => read(reader, parsed, info));
    const readInTurn = async () => {
      requireConnection(request);
      return readIndex();
    };
    const makeResponse = await (long ? longRead(readInTurn) : readIndex());
    return makeResponse();
  }

  /** Reads what the response needs: nothing more if the client or the cache has the response, else the handler's result. */
  function read(reader: Reader, parsed: RouteRequest, info: SnapshotInfo): MakeResponse | Promise<MakeResponse> {
    info.history = requireHistory(reader, history);
    if (history !== 'none' && !isChainKnown(reader)) return refuseUnknownChain;
    const etag = currentTag(reader, parsed.params);
    const tags = etag === null ? null : { etag, cacheTag: `${reader.file} ${etag}` };
    const stored = tags === null ? null : storedResponse(parsed, tags);
    if (stored !== null) return stored;
    const result: unknown = declaration.handle({ ...parsed, read: reader, askAccount });
    return whenReady(result, (value) => () => responses.ofResult(value, parsed, tags));
  }

  async function refuseUnknownChain(): Promise<never> {
    throw unknownChain(await standing());
  }

  /** The current ETag; null for a response that must not be stored. */
  function currentTag(reader: Reader, params: RouteRequest['params']): string | null {
    const state = readState === null ? null : readState(reader, params);
    if (state === null) return null;
    const from = reader.chain.historyFrom();
    return tag(from === null ? state : `${state}-since-${from}`);
  }

  /** Confirms the client's copy, or sends the cached text. @returns null if neither is current */
  function storedResponse(parsed: RouteRequest, tags: Tags): MakeResponse | null {
    const { etag, cacheTag } = tags;
    const ifNoneMatch = parsed.request.headers.get('if-none-match');
    if (namesTag(ifNoneMatch, etag)) {
      return () => respond.notModified(etag, ifNoneMatch?.includes(`W/"${etag}"`) ?? false);
    }
    const text = cache.get(parsed.target, cacheTag);
    return text === undefined ? null : () => responses.ofText(text, parsed, tags);
  }

  return answer;
}

/** Makes the responses of a route. Their `tags` are null if the response must not be stored. */
function responseMaker(declaration: Declaration, { snapshots, respond, cache, turns, failure }: RouteContext) {
  const { status = 200, plainText = false } = declaration;
  const success = plainText ? respond.plainText : respond.jsonText;
  // Compression reveals whether a secret resembles a part of the request, so only public answers are compressed.
  const isPublic = declaration.access === undefined;

  function ofResult(result: unknown, parsed: RouteRequest, tags: Tags | null): Answer {
    const etag = tags?.etag ?? null;
    if (result instanceof Streamed) return inPartsUnlessHead(ofStream(result, parsed.request), parsed.request);
    if (result instanceof Redirect) return respond.redirect(result.status, result.location, etag);
    if (result instanceof Response) return respond.passedOn(result);
    if (status === 204) return respond.noContent();
    return whenReady(plainText ? [String(result)] : jsonParts(result, turns.longWork()), (parts) => {
      if (parts.length > 1) return inPartsUnlessHead(success(status, inParts(parts, turns), etag), parsed.request);
      const [text = ''] = parts;
      if (tags !== null) cache.set(parsed.target, tags.cacheTag, text);
      return ofText(text, parsed, tags);
    });
  }

  function ofStream(body: Streamed, request: Request): Response {
    const failed = (error: unknown) => failure(error, request, declaration.errors);
    const turn = () => turns.yieldLongWork();
    return respond.passedOn(streamedResponse(body, { read: snapshots.read, turn, failure: failed }));
  }

  function ofText(text: string, { request, target }: RouteRequest, tags: Tags | null): Response {
    const etag = tags?.etag ?? null;
    const isCompressible = isPublic && text.length >= MIN_COMPRESSED_LENGTH;
    const coding = isCompressible ? codingFor(request.headers.get('accept-encoding')) : null;
    if (coding === null) return success(status, text, etag);
    const bytes = tags === null ? compress(text, coding) : cache.compress(target, tags.cacheTag, text, coding);
    return success(status, bytes, etag, coding);
  }

  return { ofResult, ofText };
}

/** Returns the response of a body in parts, without Content-Length. For HEAD, no part is made. */
function inPartsUnlessHead(response: Response, { method }: Request): Response {
  if (method !== 'HEAD') return response;
  const answer = new Response(null, { status: response.status, headers: response.headers });
  answer.headers.set('transfer-encoding', 'chunked');
  return answer;
}

/** Uses a value in this turn, unless it is a promise: most requests take one turn. */
function whenReady<T, R>(value: T | Promise<T>, use: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(use) : use(value);
}

/** Checks a request that waited for its turn. @throws ApiError if the client has closed the connection */
function requireConnection({ signal }: Request): void {
  if (signal.aborted) throw new ApiError(503, 'The client closed the connection before the request was handled');
}

/** The path for the router, with numbered parameters: it accepts only one name for each segment. Values are parsed here. */
const routerPath = (path: string): string =>
  path
    .split('/')
    .map((segment, place) => (segment.startsWith('{') ? `:p${place}` : segment))
    .join('/');

function counter({ method, path, countedAs }: Route, metrics: RequestMetrics) {
  if (countedAs === null) {
    const count = metrics.route(method, path);
    return (_: Request, status: number, milliseconds: number) => count(status, milliseconds);
  }
  const recorders = new Map<string, ReturnType<RequestMetrics['route']>>();
  return (request: Request, status: number, milliseconds: number) => {
    const pattern = countedAs(request);
    const key = `${request.method} ${pattern}`;
    const count = recorders.get(key) ?? metrics.route(request.method, pattern);
    recorders.set(key, count);
    count(status, milliseconds);
  };
}

/** Responses of GET routes to HEAD requests, until {@link withHeadAnswers} sends them. */
const headAnswers = new WeakMap<Request, Response>();

/**
 * Keeps the response to HEAD: the response of the GET without its body, but with the Content-Length of the body. A streamed
 * response has no length.
 * @returns a response for Elysia
 */
async function keepHeadAnswer(request: Request, answer: Response): Promise<Response> {
  const { status, headers } = answer;
  if (answer.body !== null && !headers.has('content-length') && !headers.has('transfer-encoding')) {
    headers.set('content-length', String((await answer.bytes()).length));
  }
  headAnswers.set(request, new Response(null, { status, headers }));
  return new Response(null);
}

/**
 * Answers HEAD with the response of the GET route. Elysia finds that route, but it reads the whole body, and sends a length
 * even if GET has none. Separate routes for HEAD would delay a server's first answer by 5 ms. For {@link AnyElysia.wrap}.
 */
export function withHeadAnswers<T extends (request: Request) => unknown>(handle: T, { method }: Request) {
  if (method !== 'HEAD') return handle;
  return async (request: Request) => {
    const answer = await handle(request);
    return headAnswers.get(request) ?? answer;
  };
}

/** An Elysia plugin. It is a function, since Elysia adds the routes of an instance twice, which takes 6 ms of a start. */
export type Plugin = (app: AnyElysia) => AnyElysia;

/** Makes the plugin of a resource's routes. {@link withHeadAnswers} also sends the responses to HEAD. */
export const plugin =
  (context: RouteContext, routes: readonly Route[]): Plugin =>
  (app) => {
    for (const declared of routes) {
      const { method, path, detail, serve, mainThread } = declared;
      const respond = (mainThread ? context.mainThread : undefined) ?? serve(context);
      const count = counter(declared, context.metrics);
      const handle = (request: Request): Answer => {
        const start = performance.now();
        return whenReady(respond(request), (response) => {
          count(request, response.status, performance.now() - start);
          return request.method === 'HEAD' && method === 'GET' ? keepHeadAnswer(request, response) : response;
        });
      };
      app.route(method, routerPath(path), ({ request }) => handle(request), { parse: 'none', detail });
    }
    return app;
  };

/** Seconds to wait for the node or the first block before the next try. */
const RETRY_AFTER_SECONDS = 5;

/** Creates the error while the server's chain is unknown. @param reason the server's state in sentences; null if unknown */
function unknownChain(reason: string | null): ApiError {
  const message = "This server's chain is still unknown";
  return new ApiError(503, reason === null ? message : `${message}. ${reason}`, 'CHAIN_UNKNOWN', {
    headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
  });
}

/** Returns whether the data names the chain or has a block. */
const isChainKnown = ({ chain }: Reader): boolean => chain.tip() !== null || chain.chainId() !== null;
