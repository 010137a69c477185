/** Calls of the API, typed from its OpenAPI document. */
import createClient from 'openapi-fetch';
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

/** What an error body says: most have a message, those of old routes an error. */
function messageOf(body: unknown, status: number): string {
  if (typeof body === 'object' && body !== null) {
    if ('message' in body && typeof body.message === 'string') return body.message;
    if ('error' in body && typeof body.error === 'string') return body.error;
  }
  return `The server answered with status ${status}.`;
}

/**
 * The body of an answer.
 * @throws RequestError where the API refuses or can't be reached; DOMException where the request was aborted
 */
export async function bodyOf<Body>(
  asked: Promise<{ data?: Body; error?: unknown; response: Response }>,
): Promise<Body> {
  const answered = await asked.catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new RequestError(0, UNREACHABLE);
  });
  const { data, error, response } = answered;
  if (!response.ok || data === undefined) throw new RequestError(response.status, messageOf(error, response.status));
  return data;
}
