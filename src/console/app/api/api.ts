/** Calls of the API, typed from its OpenAPI document. */
import createClient from 'openapi-fetch';
import { messageOf } from './error-message.ts';
import type { paths } from './openapi.d.ts';

/** The API has the same origin as the page. */
export const api = createClient<paths>({ baseUrl: location.origin });

/** Thrown if the API rejects a request, or the request never reached it. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  /**
   * @param status the HTTP status; 0 if there was no response
   * @param isBeforeHistory whether the server lacks the requested data because its history starts later
   */
  constructor(
    readonly status: number,
    message: string,
    readonly isBeforeHistory = false,
  ) {
    super(message);
  }
}

const UNREACHABLE = 'The server does not answer. It may be starting again.';

/** Returns the error of a response. */
export const failureOf = ({ status, headers }: Response, body: unknown): RequestError =>
  new RequestError(status, messageOf(body, status), headers.has('stackside-history-from'));

/** Throws the error of a request without a response. @throws RequestError; DOMException if the request was aborted */
export function unreachable(error: unknown): never {
  if (error instanceof DOMException && error.name === 'AbortError') throw error;
  throw new RequestError(0, UNREACHABLE);
}

/**
 * Returns the body of a response.
 * @throws RequestError if the API rejects the request or can't be reached; DOMException if the request was aborted
 */
export async function bodyOf<Body>(
  asked: Promise<{ data?: Body; error?: unknown; response: Response }>,
): Promise<Body> {
  const { data, error, response } = await asked.catch(unreachable);
  if (!response.ok || data === undefined) throw failureOf(response, error);
  return data;
}

/** Waits for a response without a body. @throws RequestError if the API rejects the request or can't be reached */
export async function doneOf(asked: Promise<{ error?: unknown; response: Response }>): Promise<void> {
  const { error, response } = await asked.catch(unreachable);
  if (!response.ok) throw failureOf(response, error);
}
