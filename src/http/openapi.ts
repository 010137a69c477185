/** A route's entry in the OpenAPI document, made of its declaration. */
import { OptionalKind, type TProperties, type TSchema } from '@sinclair/typebox';
import { type ErrorShape, Problem, problems } from './errors.ts';

interface Described {
  operationId: string;
  summary: string;
  description?: string;
  tag: string;
  params?: TProperties;
  query?: TProperties;
  body?: TSchema;
  response: TSchema;
  plainText?: boolean;
  notFound?: string;
  redirects?: string;
  deprecated?: unknown;
  etag: unknown;
  /** Of the answer; 200 if not given. */
  status?: number;
  described?: { query?: TProperties; body?: TSchema };
  errors?: ErrorShape;
}

export function operation(route: Described) {
  const {
    operationId,
    summary,
    description,
    tag,
    params = {},
    described = {},
    response,
    plainText = false,
    notFound,
    errors = problems,
    redirects,
    deprecated,
    etag,
    status = 200,
  } = route;
  const { query = route.query ?? {}, body = route.body } = described;
  const problem = errors.schema;
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
      [status]:
        status === 204
          ? { description: 'Done; the answer has no body' }
          : plainText
            ? text('The answer', response)
            : json('The answer', response),
      ...(redirects === undefined ? {} : { 302: { description: redirects } }),
      ...(etag === null ? {} : { 304: { description: 'The copy named in If-None-Match is still current' } }),
      ...(parameters.length === 0 && body === undefined
        ? {}
        : { 400: json('A parameter or the body is invalid', problem) }),
      ...(notFound === undefined ? {} : { 404: json(notFound, problem) }),
      ...(deprecated === undefined
        ? {}
        : { 410: json('The route is retired: the operator switched it off, or its sunset date has passed', Problem) }),
    },
  };
}

function parameter(place: 'path' | 'query', name: string, schema: TSchema) {
  const { description, explode = false, ...rest } = schema;
  const required = place === 'path' || (!(OptionalKind in schema) && schema.default === undefined);
  const style = schema.type === 'array' ? { style: 'form' as const, explode } : {};
  return { name, in: place, required, ...(description === undefined ? {} : { description }), ...style, schema: rest };
}

const text = (description: string, schema: TSchema) => ({ description, content: { 'text/plain': { schema } } });
const json = (description: string, schema: TSchema) => ({ description, content: { 'application/json': { schema } } });
