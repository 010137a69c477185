/**
 * The schemas of the published client, repaired: because of a circular import, its schemas of an operation's status and of
 * execution costs are empty objects, which let anything pass or make the check throw.
 */
import * as published from '@hirosystems/chainhooks-client/schemas';
import { FormatRegistry, Kind, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';

FormatRegistry.Set('uuid', (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text));
FormatRegistry.Set('uri', (text) => URL.canParse(text));
FormatRegistry.Set('hex', (text) => /^[0-9a-f]*$/.test(text));

type Schema = Record<string, unknown>;
const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null;

const leaves: Readonly<Record<string, TSchema>> = {
  // Epoch 4.0 added a status that the client doesn't support yet.
  status: Type.Union([published.StacksStatusSchema, Type.Literal('problematic_skipped')]),
  execution_cost: published.StacksExecutionCostSchema,
};

/** Number of nodes that were mended. */
let mended = 0;

function mend(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(mend);
  if (!isSchema(schema)) return schema;
  const copy: Schema = {};
  for (const key of Reflect.ownKeys(schema)) copy[key as string] = mend(schema[key as string]);
  if (isSchema(copy.properties)) {
    for (const [name, leaf] of Object.entries(leaves)) {
      if (!(name in copy.properties)) continue;
      const property = copy.properties[name];
      if (isSchema(property) && Kind in property && name !== 'status') continue;
      copy.properties[name] = leaf;
      mended += 1;
    }
  }
  return copy;
}

const event = mend(published.ChainhookEventSchema) as TSchema;
export const mendedNodes = mended;

/** The payload's violation of the published schema, or null. */
export function payloadMistake(payload: unknown): string | null {
  const error = Value.Errors(event, payload).First();
  return error === undefined ? null : `${error.path}: ${error.message} ${JSON.stringify(error.value)?.slice(0, 300)}`;
}

const answers: Readonly<Record<string, TSchema>> = {
  hook: published.ChainhookSchema,
  page: published.PaginatedChainhookResponseSchema,
};

/** The same of an answer of the management routes. */
export function answerMistake(answer: 'hook' | 'page', body: unknown): string | null {
  const schema = answers[answer];
  if (schema === undefined) throw new Error(`no schema of ${answer}`);
  const error = Value.Errors(schema, body).First();
  return error === undefined ? null : `${error.path}: ${error.message}`;
}
