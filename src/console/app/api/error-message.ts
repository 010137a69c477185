/** The text of an API error, for the user. */

/** Returns a text member of an error body; null if there is none. */
function textOf(body: unknown, name: string): string | null {
  const value: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, name) : null;
  return typeof value === 'string' && value !== '' ? value : null;
}

/**
 * Returns the message of an error body. Most bodies have a message, bodies of old routes an error, and bodies of
 * chainhooks an error with details that name the field and its rule.
 * @param body of the response, parsed from JSON
 */
export function messageOf(body: unknown, status: number): string {
  const error = textOf(body, 'error');
  const details = textOf(body, 'details');
  const message = textOf(body, 'message') ?? (error !== null && details !== null ? `${error}: ${details}` : error);
  return message ?? `The server answered with status ${status}.`;
}
