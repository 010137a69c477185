/** Errors to callers: what may be said, in one shape, through one exit. */
import { type AnyElysia, Elysia } from 'elysia';
import { UNEXPECTED } from '../base/errors.ts';
import { unavailable } from '../store/files/store-failure.ts';
import { IndexUnavailableError, NoSnapshotError, TooMuchWorkError } from '../store/model/read-errors.ts';
import type { ListenerEvent } from './listener.ts';
import { pathAndQuery } from './request-url.ts';
import type { Responder } from './respond.ts';

export type ErrorStatus = 400 | 401 | 403 | 404 | 409 | 410 | 413 | 415 | 426 | 429 | 502 | 503 | 504;

/** An answer the caller can act on. Its text is part of the API. */
export class ApiError extends Error {
  override readonly name: string = 'ApiError';
  constructor(
    readonly status: ErrorStatus,
    message: string,
    /** A word for programs, where the status alone is too coarse. */
    readonly code: string | null = null,
  ) {
    super(message);
  }
}

/** A parameter that breaks its schema. @param message where and which rule: `querystring/limit must be <= 50` */
export class ParameterError extends ApiError {
  override readonly name = 'ParameterError';
  constructor(message: string) {
    super(400, message, 'VALIDATION');
  }
}

/** An error whose body is the route's own, since clients read it. */
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

export const notFound = (message: string): ApiError => new ApiError(404, message);

/** All that the API has to say to the log. */
export type ApiEvent = ListenerEvent | { event: 'store_unavailable'; method: string; path: string; cause: unknown };

export type Log = (event: ApiEvent) => void;

/** Makes the body of an error that the caller is told of. */
export type ErrorBody = (status: ErrorStatus | 500, message: string, code: string | null) => object;

/** Makes the answer to a request that failed. @param body of another form than {@link problem} */
export type Failure = (error: unknown, request: Request, body?: ErrorBody) => Response;

const reasons: Record<ErrorStatus | 500, string> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  409: 'Conflict',
  410: 'Gone',
  413: 'Payload Too Large',
  415: 'Unsupported Media Type',
  426: 'Upgrade Required',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};

export const problem = (status: ErrorStatus | 500, message: string, code: string | null = null) =>
  code === null
    ? { statusCode: status, error: reasons[status], message }
    : { statusCode: status, code, error: reasons[status], message };

/** What families of old routes say of an error, and their clients read. */
export const bareError: ErrorBody = (_, message) => ({ error: message });

/** The cause of a failure of ours goes to the log, never to the caller. */
export function failures(respond: Responder, log: Log): Failure {
  return (error, request, body = problem) => {
    if (error instanceof ShapedError) return respond.json(error.status, error.body);
    if (error instanceof ApiError) return respond.json(error.status, body(error.status, error.message, error.code));
    if (error instanceof TooMuchWorkError) return respond.json(400, body(400, error.message, 'TOO_MUCH_WORK'));
    const where = { method: request.method, path: pathAndQuery(request.url), cause: error };
    if (isStoreUnavailable(error)) {
      // That there is no index was said once, when it was noticed.
      if (!(error instanceof IndexUnavailableError)) log({ event: 'store_unavailable', ...where });
      return respond.json(503, { error: 'The database service is unavailable' });
    }
    log({ event: 'request_failed', ...where });
    return respond.json(500, body(500, UNEXPECTED, null));
  };
}

/** There is no snapshot, or the database was busy or failed while it was read. */
const isStoreUnavailable = (error: unknown): boolean => error instanceof NoSnapshotError || unavailable(error) !== null;

/** Errors that arise outside a declared route. Used before any route. */
export function errors(respond: Responder, failure: Failure): AnyElysia {
  return new Elysia({ name: 'errors' }).onError({ as: 'global' }, ({ code, error, request }) => {
    if (code !== 'NOT_FOUND') return failure(error, request);
    const message = `Route ${request.method}:${pathAndQuery(request.url)} not found`;
    return respond.json(404, { message, error: reasons[404], statusCode: 404 });
  });
}
