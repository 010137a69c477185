/**
 * Request bodies, which are read up to a limit.
 *
 * An empty body counts as no body, even if the headers announce one: clients send `Content-Type: application/json` without a
 * body.
 */
import type { Static, TSchema } from '@sinclair/typebox';
import { readUpTo } from '../base/bounded-read.ts';
import { isTooDeep, MAX_DEPTH, parsedJson } from '../base/json.ts';
import { checker } from './checker.ts';
import { ApiError, ParameterError } from './errors.ts';

/** Maximum size of a JSON body in bytes. */
const MAX_BODY = 1024 * 1024;

/** A body can't be read: it is too long, or the client disconnected before its end. */
export class BodyError extends ApiError {
  override readonly name = 'BodyError';
  readonly reason: 'too_large' | 'incomplete';
  /** @param limit in bytes */
  constructor(reason: BodyError['reason'], limit: number, options?: ErrorOptions) {
    const tooLarge = reason === 'too_large';
    const message = tooLarge ? `The body must not be longer than ${limit} bytes` : 'The body is not complete';
    super(tooLarge ? 413 : 400, message, null, options);
    this.reason = reason;
  }
}

/** Whether the request declares its length. The server then limits the body to it. @throws BodyError if it exceeds the limit */
function declaresLength({ headers }: Request, limit: number): boolean {
  const length = headers.get('content-length');
  if (Number(length ?? 0) > limit) throw new BodyError('too_large', limit);
  return length !== null;
}

/**
 * Reads a request's body.
 * @param limit maximum length in bytes
 * @param heard called with the number of bytes of each chunk; may throw ApiError to end the reading
 * @throws BodyError
 */
export async function bodyBytes(
  request: Request,
  limit: number,
  heard?: (bytes: number) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  declaresLength(request, limit);
  const bytes = await readUpTo(request.body, limit, heard).catch((cause: unknown) => {
    throw cause instanceof ApiError ? cause : new BodyError('incomplete', limit, { cause });
  });
  if (bytes === null) throw new BodyError('too_large', limit);
  return bytes;
}

/** Reads the body as UTF-8; invalid bytes become U+FFFD. @see bodyBytes */
export async function bodyText(request: Request, limit: number): Promise<string> {
  if (!declaresLength(request, limit)) return new TextDecoder().decode(await bodyBytes(request, limit));
  try {
    return await request.text();
  } catch (cause) {
    throw new BodyError('incomplete', limit, { cause });
  }
}

/**
 * The JSON value of a request's body; undefined if it has none.
 * @throws ApiError 400 if it isn't JSON, is nested too deep or incomplete, 413 if it is too long, 415 for another content type
 */
async function jsonBody(request: Request): Promise<unknown> {
  const text = await bodyText(request, MAX_BODY);
  if (text === '') return undefined;
  const type = request.headers.get('content-type');
  if (type === null || !/^application\/json\s*(;|$)/i.test(type)) {
    throw new ApiError(415, 'The body must be JSON, with Content-Type: application/json');
  }
  if (isTooDeep(text)) {
    throw new ApiError(400, `The body must not be nested deeper than ${MAX_DEPTH} levels`, 'VALIDATION');
  }
  const value = parsedJson(text);
  if (value === undefined) throw new ApiError(400, 'The body is not valid JSON', 'VALIDATION');
  return value;
}

/**
 * Makes a function that reads and checks a request's JSON body. Members that the schema doesn't have are allowed unless it
 * has `additionalProperties: false`.
 * @param optional whether a missing body, or null, becomes `{}`
 */
export function bodyReader<B extends TSchema>(schema: B, optional: boolean): (request: Request) => Promise<Static<B>> {
  const mistakeIn = checker(schema);
  return async (request) => {
    const body = await jsonBody(request);
    const value = optional ? (body ?? {}) : body;
    const mistake = value === undefined ? { path: [], rule: 'is required' } : mistakeIn(value);
    if (mistake !== null) throw new ParameterError({ location: 'body', path: mistake.path }, mistake.rule);
    return value as Static<B>;
  };
}
