/** A route's entry in the OpenAPI document, made of its declaration. */
import { OptionalKind, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { bareErrors, type ErrorShape, type ErrorStatus, Problem, problems } from './errors.ts';
import { HEIGHT_HEADER, Height, LONGEST_WAIT_MS, MIN_HEIGHT_HEADER, MinHeight } from './heights.ts';
import { isOwnPath } from './parameters.ts';

/** The name of the scheme by which callers of a route with access show their key. */
export const KEY_SCHEME = 'key';

/** What statuses mean with which routes refuse requests, besides 400, 401, 404 and 410. */
export type Refusals = Readonly<Partial<Record<ErrorStatus, string>>>;

interface Described {
  path: string;
  operationId: string;
  summary: string;
  description?: string;
  tag: string;
  params?: TProperties;
  query?: TProperties;
  body?: TSchema;
  optionalBody?: boolean;
  response: TSchema;
  plainText?: boolean;
  otherTypes?: Readonly<Record<string, string>>;
  notFound?: string;
  notFoundBody?: TSchema;
  refusals?: Refusals;
  redirects?: string;
  deprecated?: unknown;
  access?: unknown;
  etag: unknown;
  /** Whether the index is read; true if not given. */
  snapshot?: boolean;
  /** Status of the answer; 200 if not given. */
  status?: number;
  described?: { query?: TProperties; body?: TSchema };
  errors?: ErrorShape;
}

/** A body of a request or a response. */
interface Body {
  description: string;
  content?: Record<string, { schema: TSchema; example?: unknown }>;
}

/** What a route answers where the index can't be read, or not yet. */
const unavailable = ({ schema, unavailableSchema }: ErrorShape): Body =>
  json(
    `The chain is not as high as ${MIN_HEIGHT_HEADER} asks, and Retry-After says in how many seconds to ask again; or the data can not be read now`,
    unavailableSchema === undefined ? schema : Type.Union([schema, unavailableSchema]),
  );

/** The same for the shapes that most routes have, which the document has once. */
const unavailables = { Unavailable: unavailable(problems), UnavailableName: unavailable(bareErrors) };

function unavailableFor(errors: ErrorShape): Body {
  if (errors === problems) return unavailables.Unavailable;
  return errors === bareErrors ? unavailables.UnavailableName : unavailable(errors);
}

/** The entry of a route in the document. */
export function operation(route: Described) {
  const {
    path,
    operationId,
    summary,
    description,
    tag,
    params = {},
    described = {},
    optionalBody = false,
    response,
    plainText = false,
    otherTypes = {},
    errors = problems,
    notFound,
    notFoundBody = errors.schema,
    refusals = {},
    redirects,
    deprecated,
    access,
    etag,
    snapshot = true,
    status = 200,
  } = route;
  const { query = route.query ?? {}, body = route.body } = described;
  const problem = errors.schema;
  const parameters = [
    ...Object.entries(params).map(([name, schema]) => parameter('path', name, schema)),
    ...Object.entries(query).map(([name, schema]) => parameter('query', name, schema)),
  ];
  const responses: Record<string, Body> = {
    [status]:
      status === 204
        ? { description: 'Done; the answer has no body' }
        : plainText
          ? text('The answer', response)
          : withOtherTypes(json('The answer', response), otherTypes),
    ...(redirects === undefined ? {} : { 302: { description: redirects } }),
    ...(etag === null ? {} : { 304: { description: 'The copy named in If-None-Match is still current' } }),
    ...(parameters.length === 0 && body === undefined && !snapshot && !isOwnPath(path)
      ? {}
      : { 400: json('A parameter or the body is invalid', problem) }),
    ...(body === undefined
      ? {}
      : { 413: json('The body is too large', problem), 415: json('The body is not sent as JSON', problem) }),
    ...(access === undefined ? {} : { 401: json('The API key is missing or wrong', problem) }),
    ...(notFound === undefined ? {} : { 404: json(notFound, notFoundBody) }),
    ...(snapshot ? { 503: unavailableFor(errors) } : {}),
    ...Object.fromEntries(Object.entries(refusals).map(([refused, meaning]) => [refused, json(meaning, problem)])),
    ...(deprecated === undefined
      ? {}
      : {
          410: json('The route is retired: the operator switched it off, or its sunset date has passed', Problem),
        }),
  };
  const requestBody: (Body & { required: boolean }) | undefined =
    body === undefined ? undefined : { required: !optionalBody, ...json('The body', body) };
  return {
    operationId,
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [tag],
    ...(deprecated === undefined ? {} : { deprecated: true }),
    ...(access === undefined ? {} : { security: [{ [KEY_SCHEME]: [] }] }),
    parameters,
    ...(requestBody === undefined ? {} : { requestBody }),
    responses,
  };
}

/** What the document says once of the heights of answers; operations refer to it. */
export const heightComponents = {
  parameters: {
    MinHeight: {
      ...parameter('header', MIN_HEIGHT_HEADER, Type.Optional(MinHeight)),
      description: `Least height of the chain that the answer is made from. The request waits for it, ${LONGEST_WAIT_MS / 1000} second at most.`,
    },
  },
  headers: {
    Height: {
      description: 'Height of the chain that the answer is made from; 0 before the first block',
      schema: Height,
    },
  },
  responses: unavailables,
};

/** What an operation refers to in the place of an answer that the document has once; the answer itself elsewhere. */
function shared(answer: Body): object {
  const text = JSON.stringify(answer);
  const found = Object.entries(unavailables).find(([, one]) => JSON.stringify(one) === text);
  return found === undefined ? answer : { $ref: `#/components/responses/${found[0]}` };
}

/** Statuses of answers that are made after the index was read. */
const NAMES_HEIGHT = /^([23]..|404)$/;

/** The operation with the headers of requests and answers that name heights. */
export function withHeights(operation: Operation) {
  const headers = { [HEIGHT_HEADER]: { $ref: '#/components/headers/Height' } };
  return {
    ...operation,
    parameters: [...operation.parameters, { $ref: '#/components/parameters/MinHeight' }],
    responses: Object.fromEntries(
      Object.entries(operation.responses).map(([status, response]) => [
        status,
        NAMES_HEIGHT.test(status) ? { ...response, headers } : shared(response),
      ]),
    ),
  };
}

/** A request of an operation that was made once, and what was answered. */
export interface RecordedExample {
  /** Where they are others than the schemas' own examples. */
  parameters?: Readonly<Record<string, unknown>>;
  body?: unknown;
  /** Not given where the answer has no body. */
  answer?: unknown;
}

type Operation = ReturnType<typeof operation>;

/** The operation with what was recorded of it. */
export function withExample(operation: Operation, examples: Readonly<Record<string, RecordedExample>>): Operation {
  const recorded = examples[operation.operationId];
  if (recorded === undefined) return operation;
  const { parameters = {}, body, answer } = recorded;
  const { requestBody } = operation;
  return {
    ...operation,
    parameters: operation.parameters.map((one) => ({ ...one, example: parameters[one.name] ?? one.example })),
    ...(requestBody === undefined || body === undefined ? {} : { requestBody: withContentExample(requestBody, body) }),
    responses: Object.fromEntries(
      Object.entries(operation.responses).map(([status, response]) => [
        status,
        answer !== undefined && status.startsWith('2') ? withContentExample(response, answer) : response,
      ]),
    ),
  };
}

const withContentExample = <T extends Body>(body: T, example: unknown): T => ({
  ...body,
  content: Object.fromEntries(
    // Other forms of the body come after the one that the example has.
    Object.entries(body.content ?? {}).map(([type, content], at) => [
      type,
      at === 0 ? { ...content, example } : content,
    ]),
  ),
});

/** A value that a schema accepts: its example, or what it names itself; undefined where it names none. */
function exampleOf(schema: TSchema): unknown {
  const { examples, default: usual, const: only, anyOf, items, type } = schema;
  if (examples !== undefined) return examples[0];
  if (usual !== undefined) return usual;
  if (anyOf !== undefined) return exampleOf(anyOf[0]);
  if (type === 'array') return [exampleOf(items)];
  return type === 'boolean' ? true : only;
}

function parameter(place: 'path' | 'query' | 'header', name: string, schema: TSchema) {
  const { description, explode = false, examples: _, ...rest } = schema;
  const example = exampleOf(schema);
  const required = place === 'path' || (!(OptionalKind in schema) && schema.default === undefined);
  const style = schema.type === 'array' ? { style: 'form' as const, explode } : {};
  return {
    name,
    in: place,
    required,
    ...(description === undefined ? {} : { description }),
    ...style,
    schema: rest,
    example,
  };
}

/** @param types texts in other forms by their content type, with what they are */
const withOtherTypes = (body: Body, types: Readonly<Record<string, string>>): Body => ({
  ...body,
  content: {
    ...body.content,
    ...Object.fromEntries(
      Object.entries(types).map(([type, description]) => [type, { schema: { type: 'string', description } as never }]),
    ),
  },
});

/** Hoisted, since components are made of it. */
function json(description: string, schema: TSchema): Body {
  return { description, content: { 'application/json': { schema } } };
}
const text = (description: string, schema: TSchema): Body => ({ description, content: { 'text/plain': { schema } } });
