/** A route's entry in the OpenAPI document, made of its declaration. */
import { OptionalKind, type TProperties, type TSchema, Type } from '@sinclair/typebox';

export const Problem = Type.Object({
  statusCode: Type.Integer(),
  code: Type.Optional(Type.String({ description: 'A word for programs, where the status alone is too coarse' })),
  error: Type.String({ description: "The status's own phrase" }),
  message: Type.String({ description: 'What is wrong; of a parameter its name and the rule it breaks' }),
});

interface Described {
  operationId: string;
  summary: string;
  description?: string;
  tag: string;
  params?: TProperties;
  query?: TProperties;
  body?: TSchema;
  response: TSchema;
  notFound?: string;
  deprecated?: unknown;
  etag: unknown;
}

export function operation(route: Described) {
  const {
    operationId,
    summary,
    description,
    tag,
    params = {},
    query = {},
    body,
    response,
    notFound,
    deprecated,
    etag,
  } = route;
  const parameters = [
    ...Object.entries(params).map(([name, schema]) => parameter('path', name, schema)),
    ...Object.entries(query).map(([name, schema]) => parameter('query', name, schema)),
  ];
  return {
    operationId,
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [tag],
    ...(deprecated === undefined ? {} : { deprecated: true }),
    parameters,
    ...(body === undefined ? {} : { requestBody: { required: true, ...json('The body', body) } }),
    responses: {
      200: json('The answer', response),
      ...(etag === null ? {} : { 304: { description: 'The copy named in If-None-Match still holds' } }),
      ...(parameters.length === 0 && body === undefined ? {} : { 400: json('A parameter breaks its rule', Problem) }),
      ...(notFound === undefined ? {} : { 404: json(notFound, Problem) }),
      ...(deprecated === undefined
        ? {}
        : { 410: json('The operator switched it off, or its sunset is past', Problem) }),
    },
  };
}

function parameter(place: 'path' | 'query', name: string, schema: TSchema) {
  const { description, explode = false, ...rest } = schema;
  const required = place === 'path' || (!(OptionalKind in schema) && schema.default === undefined);
  const style = schema.type === 'array' ? { style: 'form' as const, explode } : {};
  return { name, in: place, required, ...(description === undefined ? {} : { description }), ...style, schema: rest };
}

const json = (description: string, schema: TSchema) => ({ description, content: { 'application/json': { schema } } });
