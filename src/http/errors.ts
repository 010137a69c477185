/** Error responses: their types, bodies and shapes, and the one function that makes them. */

import { type TSchema, Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { UNEXPECTED } from '../base/errors.ts';
import type { UnexpectedEvent } from '../base/log-events.ts';
import { isTransient } from '../base/system-errors.ts';
import { isEventPath } from '../chain/payload-reader.ts';
import { percentDecoded } from '../codec/utf8.ts';
import { IndexUnavailableError, UnreadableCursorError } from '../store/model/read-errors.ts';
import { TooMuchWorkError } from '../store/rows/statement.ts';
import { pathAndQuery, pathOf } from './request-url.ts';
import { type Responder, withHeaders } from './respond.ts';

export type ErrorStatus = keyof typeof reasons;

const reasons = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  409: 'Conflict',
  410: 'Gone',
  413: 'Payload Too Large',
  415: 'Unsupported Media Type',
  421: 'Misdirected Request',
  422: 'Unprocessable Content',
  426: 'Upgrade Required',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
} as const;

const NO_HEADERS = Object.freeze({});

/**
 * An error that the client can act on. Its text is part of the API.
 *
 * The error has no stack trace (`stack` is undefined): making the error would take twice as long, and nobody
 * would read it, since these errors are answered and not logged.
 */
export class ApiError extends Error {
  override readonly name: string = 'ApiError';
  readonly headers: Readonly<Record<string, string>>;
  constructor(
    readonly status: ErrorStatus,
    message: string,
    /** Error code for programs, if the status doesn't identify the error. */
    readonly code: string | null = null,
    { headers = NO_HEADERS, ...options }: ErrorOptions & Partial<Pick<ApiError, 'headers'>> = {},
  ) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, options);
    Error.stackTraceLimit = stackTraceLimit;
    this.headers = headers;
  }
}

/** The location of a parameter. Messages start with it: `querystring/limit`. */
export interface ParameterLocation {
  location: 'params' | 'querystring' | 'headers' | 'body';
  /** The parameter's name, then member names and array indexes inside its value; empty for the whole body. */
  path: readonly string[];
}

/** Makes the message of a mistake. @param name the parameter, as the message names it */
type Phrase = (name: string) => string;

/** A parameter that breaks its schema: `querystring/limit must be <= 50`. */
export class ParameterError extends ApiError {
  override readonly name = 'ParameterError';
  readonly location: ParameterLocation['location'];
  readonly path: ParameterLocation['path'];
  readonly #phrase: Phrase;
  /** @param rule the broken rule, in words that follow the parameter's name; or a function that makes the whole message */
  constructor({ location, path }: ParameterLocation, rule: string | Phrase) {
    const phrase: Phrase = typeof rule === 'string' ? (name) => `${name} ${rule}` : rule;
    super(400, phrase([location, ...path].join('/')), 'VALIDATION');
    this.location = location;
    this.path = path;
    this.#phrase = phrase;
  }

  /** The message without the location, for error shapes that have the location in a separate member. @param separator of the path */
  withoutLocation(separator: string): string {
    return this.#phrase(this.path.join(separator) || this.location);
  }
}

/** Makes the error for a text that isn't a cursor of this list. */
export const invalidCursor = (): ParameterError =>
  new ParameterError(
    { location: 'querystring', path: ['cursor'] },
    'must be a cursor that this list returned; omit it to get the first page',
  );

/** An error with a special body that clients of the route expect. */
export class ShapedError extends ApiError {
  override readonly name = 'ShapedError';
  constructor(
    status: ErrorStatus,
    message: string,
    readonly body: object,
  ) {
    super(status, message);
  }
}

/** Codes of the errors of an index that began at a block and can't give the answer. */
const HISTORY_CODES: ReadonlySet<string | null> = new Set(['BEFORE_HISTORY', 'HISTORY_INCOMPLETE', 'ASKING_NODE']);

/** Creates a 404. @param message names the missing thing */
export const notFound = (message: string): ApiError => new ApiError(404, message);

/** Returns a value unchanged. @throws ApiError 404 with the message if it is undefined */
export function requireFound<T>(value: T | undefined, message: string): T {
  if (value === undefined) throw notFound(message);
  return value;
}

/** The error for a path whose percent-encoding is malformed, or isn't UTF-8. */
export const badPath = (url: string): ApiError =>
  new ApiError(400, `'${pathAndQuery(url)}' is not a valid url component`, 'BAD_URL');

export type ApiEvent = UnexpectedEvent | { event: 'store_unavailable'; method: string; path: string; cause: unknown };

export interface ErrorShape {
  schema: TSchema;
  /** Makes the body of an error that the client can act on. */
  body(error: ApiError): object;
  /** The body of a 503: the index can't be read now. */
  unavailable: object;
  /** Schema of `unavailable`, if it isn't `schema`. */
  unavailableSchema?: TSchema;
  /** The body of a 500. */
  failed: object;
}

export type Failure = (error: unknown, request: Request, shape?: ErrorShape) => Response;

/** The body of most errors. @param code error code for programs; null omits it */
export const problem = (status: ErrorStatus, message: string, code: string | null = null) =>
  code === null
    ? { statusCode: status, error: reasons[status], message }
    : { statusCode: status, code, error: reasons[status], message };

export const Problem = Type.Object(
  {
    statusCode: Type.Integer(),
    code: Type.Optional(
      Type.String({
        description:
          "Error code for programs, if the status does not identify the error. A 404 with `BEFORE_HISTORY` means that the server's history starts at a block, and the missing item may be older.",
      }),
    ),
    error: Type.String({ description: 'Phrase of the HTTP status' }),
    message: Type.String({
      description: 'Description of the error; for a parameter, its name and the rule that it breaks',
    }),
  },
  { $id: 'Problem' },
);

const unavailableBody = { error: 'The database service is unavailable' };
const BareError = Type.Object({ error: Type.String({ description: 'What is wrong' }) }, { $id: 'BareError' });

export const problems: ErrorShape = {
  schema: Problem,
  body: ({ status, message, code }) => problem(status, message, code),
  unavailable: unavailableBody,
  unavailableSchema: Type.Union([Problem, BareError], { $id: 'StoreProblem' }),
  failed: problem(500, UNEXPECTED),
};

/** The error shape of some v1 and v2 routes, which their clients read. */
export const bareErrors: ErrorShape = {
  schema: BareError,
  body: (error) => ({ error: HISTORY_CODES.has(error.code) ? `${error.message} (${error.code})` : error.message }),
  unavailable: unavailableBody,
  failed: { error: UNEXPECTED },
};

/** Makes error responses. The cause of an internal error is logged and never sent to the client. */
export function failures(respond: Responder, log: (event: ApiEvent) => void): Failure {
  const errorResponse = (error: ApiError, shape: ErrorShape): Response => {
    const body = error instanceof ShapedError ? error.body : shape.body(error);
    return withHeaders(respond.json(error.status, body), error.headers);
  };
  return (error, request, shape = problems) => {
    if (error instanceof ApiError) return errorResponse(error, shape);
    if (error instanceof TooMuchWorkError)
      return errorResponse(new ApiError(400, error.message, 'TOO_MUCH_WORK'), shape);
    if (error instanceof UnreadableCursorError) return errorResponse(invalidCursor(), shape);
    const where = { method: request.method, path: pathAndQuery(request.url), cause: error };
    if (isTransient(error)) {
      // A missing index was logged once, when it was noticed.
      if (!(error instanceof IndexUnavailableError)) log({ event: 'store_unavailable', ...where });
      return respond.json(503, shape.unavailable);
    }
    log({ event: 'unexpected_error', part: 'request', ...where });
    return respond.json(500, shape.failed);
  };
}

/** The 404 for a path without a route. A route can also throw it, for a path that only its pattern matches. */
export function routeNotFound({ method, url }: Pick<Request, 'method' | 'url'>): ShapedError {
  const isEvent = method === 'POST' && isEventPath(pathOf(url));
  const hint = isEvent ? '. Events belong to the event port: check the endpoint of the observer, and --event-port' : '';
  const message = `Route ${method}:${pathAndQuery(url)} not found${hint}`;
  // The order of the members is part of the API.
  return new ShapedError(404, message, { message, error: reasons[404], statusCode: 404 });
}

/** The error for a request without a route: 400 if its path is malformed, otherwise 404. */
export const unknownRoute = (request: Request): ApiError =>
  percentDecoded(pathOf(request.url)) === null ? badPath(request.url) : routeNotFound(request);

/**
 * Plugin for errors outside a declared route. It must be added before any route.
 * @param notFoundPage answers a path without a route to browsers; returns null for other clients
 */
export function errors(
  respond: Responder,
  failure: Failure,
  notFoundPage: (request: Request) => Promise<Response> | null,
): AnyElysia {
  return new Elysia({ name: 'errors' }).onError({ as: 'global' }, ({ code, error, request }) => {
    if (code !== 'NOT_FOUND') return failure(error, request);
    return notFoundPage(request)?.then(respond.passedOn) ?? failure(unknownRoute(request), request);
  });
}
