/** Holds what a route answers against what it declares. For tests. */
import type { TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';

/** Where and how a body breaks its schema. */
export class ResponseMismatch extends Error {
  override readonly name = 'ResponseMismatch';
}

/** @throws ResponseMismatch on a wrong or missing value, and on one that the schema doesn't name */
export function checkedBody(path: string, schema: TSchema, text: string): void {
  const body: unknown = JSON.parse(text);
  const error = Value.Errors(schema, body).First();
  if (error !== undefined) {
    throw new ResponseMismatch(`${path} answers at ${error.path || '/'}: ${error.message}, got ${text.slice(0, 500)}`);
  }
  const declared = Value.Clean(schema, Value.Clone(body));
  if (!Value.Equal(declared, body)) {
    const extra = JSON.stringify(Value.Diff(declared, body).filter(({ type }) => type === 'insert'));
    throw new ResponseMismatch(`${path} answers what its schema doesn't name: ${extra}`);
  }
}

/**
 * Holds an error against what its route declares for the status. What failed of ours is declared by none.
 * @param responses by status, as the document has them
 * @throws ResponseMismatch
 */
export async function checkedError(
  path: string,
  responses: Readonly<Record<string, { content?: Record<string, { schema: TSchema }> }>>,
  response: Response,
): Promise<void> {
  if (response.status === 500) return;
  const schema = responses[response.status]?.content?.['application/json']?.schema;
  const text = await response.clone().text();
  if (schema === undefined) throw new ResponseMismatch(`${path} declares no body for ${response.status}, got ${text}`);
  checkedBody(`${path} with ${response.status}`, schema, text);
}
