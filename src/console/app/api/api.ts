/** Calls of the API, typed from its OpenAPI document. */
import createClient from 'openapi-fetch';
import { messageOf } from './error-message.ts';
import type { paths } from './openapi.d.ts';

/** The API's origin is the page's own. */
export const api = createClient<paths>({ baseUrl: location.origin });

/** A request that the API refused, or that never reached it. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  /** @param status the HTTP status; 0 where no answer came */
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const UNREACHABLE = 'The server does not answer. It may be starting again.';

/** The error that an answer stands for. */
export const failureOf = (status: number, body: unknown): RequestError =>
  new RequestError(status, messageOf(body, status));

/** What a request that got no answer throws. @throws RequestError; DOMException where the request was aborted */
export function unreachable(error: unknown): never {
  if (error instanceof DOMException && error.name === 'AbortError') throw error;
  throw new RequestError(0, UNREACHABLE);
}

/**
 * The body of an answer.
 * @throws RequestError where the API refuses or can't be reached; DOMException where the request was aborted
 */
export async function bodyOf<Body>(
  asked: Promise<{ data?: Body; error?: unknown; response: Response }>,
): Promise<Body> {
  const { data, error, response } = await asked.catch(unreachable);
  if (!response.ok || data === undefined) throw failureOf(response.status, error);
  return data;
}

/** Waits for an answer without a body. @throws RequestError where the API refuses or can't be reached */
export async function doneOf(asked: Promise<{ error?: unknown; response: Response }>): Promise<void> {
  const { error, response } = await asked.catch(unreachable);
  if (!response.ok) throw failureOf(response.status, error);
}
