/** OpenAPI: the operation of each route, made from its declaration, and the document of all operations. */
import { OptionalKind, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { type ErrorShape, type ErrorStatus, Problem, problems } from './errors.ts';
import { HEIGHT_HEADER, Height, MAX_WAIT_MS, MIN_HEIGHT_HEADER, MinHeight } from './heights.ts';
import { HISTORY_HEADER, HistoryFrom, type HistoryRequirement, isPartial } from './history.ts';
import { isOwnPath } from './parameters.ts';

const KEY_SCHEME = 'key';

export interface DescribedRoute {
  /** The path as OpenAPI writes it: `/extended/v3/transactions/{tx_id}`; `*` at its end matches any path. */
  path: string;
  operationId: string;
  summary: string;
  /** Sentences about the result, its order and its peculiarities. Required unless the route is hidden. */
  description?: string;
  tag: string;
  /** Omitted from the OpenAPI document. */
  hidden?: boolean;
  params?: TProperties;
  query?: TProperties;
  /** Schema of the JSON body; a route without one ignores the body of a request. */
  body?: TSchema;
  /** A missing body is `{}`. */
  optionalBody?: boolean;
  /** Parameters and body that the handler itself parses and checks, for the OpenAPI document. */
  described?: { query?: TProperties; body?: TSchema };
  response: TSchema;
  /** Default: 200. A 204 is sent without a body. */
  status?: 202 | 204;
  /** The response is a text, sent as `text/plain` instead of JSON. */
  plainText?: boolean;
  /** Descriptions of the body by content type, for the other types that a request can accept. For the OpenAPI document. */
  otherTypes?: Readonly<Record<string, string>>;
  /** Description of the 404, if the route has one. */
  notFound?: string;
  notFoundBody?: TSchema;
  /** Descriptions of error statuses that the rest of the declaration doesn't imply, or that need other words. */
  refusals?: Readonly<Partial<Record<ErrorStatus, string>>>;
  /** Form of errors (default: {@link problems}). */
  errors?: ErrorShape;
  /** Description of the 302, if the handler redirects. */
  redirects?: string;
  deprecated?: unknown;
  access?: unknown;
  /** Whether `access` allows requests without a key. */
  keyless?: boolean;
  etag: unknown;
  /** The part of the chain that the answers need; `none` for a route that doesn't read the index. */
  history: HistoryRequirement;
  /** False if the route doesn't read the index. */
  snapshot?: boolean;
}

interface Body {
  description: string;
  headers?: Record<string, { $ref: string }>;
  content?: Record<string, { schema: TSchema; example?: unknown }>;
}

/** The 503 response: the index can't be read now, or lacks the minimum height, the chain, or the blocks that the answer needs. */
const unavailable = ({ schema, unavailableSchema }: ErrorShape): Body =>
  json(
    `Not available now; retry after \`Retry-After\`. The chain is lower than ${MIN_HEIGHT_HEADER} (code \`HEIGHT_NOT_REACHED\`), the response needs older blocks (\`HISTORY_INCOMPLETE\`), the node is being queried for an account (\`ASKING_NODE\`) or doesn't respond (\`NODE_AWAY\`), the server's chain is still unknown (\`CHAIN_UNKNOWN\`), or the data can't be read`,
    unavailableSchema ?? schema,
  );

/** Makes the operation of a route: Elysia's `detail`. Its parts are made on demand, since most servers never show the document. */
export function operation(route: DescribedRoute) {
  const { operationId, summary, description, tag, hidden = false, deprecated, optionalBody = false } = route;
  const body = bodyOf(route);
  return {
    ...(hidden ? { hide: true } : {}),
    operationId,
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [tag],
    ...(deprecated === undefined ? {} : { deprecated: true }),
    ...(needsKey(route) ? { security: [{ [KEY_SCHEME]: [] }] } : {}),
    get parameters() {
      return parametersOf(route);
    },
    ...(body === undefined
      ? {}
      : { requestBody: { required: !optionalBody, content: { [JSON_TYPE]: { schema: body } } } }),
    get responses() {
      return responsesOf(route);
    },
  };
}

const needsKey = ({ access, keyless = false }: DescribedRoute): boolean => access !== undefined && !keyless;
const bodyOf = ({ body, described }: DescribedRoute): TSchema | undefined => described?.body ?? body;

function parametersOf({ params = {}, query = {}, described, snapshot = true }: DescribedRoute) {
  return [
    ...Object.entries(params).map(([name, schema]) => parameter('path', name, schema)),
    ...Object.entries(described?.query ?? query).map(([name, schema]) => parameter('query', name, schema)),
    ...(snapshot ? [MIN_HEIGHT] : []),
  ];
}

function successOf({ response, status, plainText = false, otherTypes = {} }: DescribedRoute): Body {
  if (status === 204) return { description: 'Done; the response is empty' };
  const content = { [plainText ? 'text/plain' : JSON_TYPE]: { schema: response } };
  const others = Object.entries(otherTypes).map(
    ([type, description]) => [type, { schema: { type: 'string', description } as never }] as const,
  );
  return { description: 'OK', content: { ...content, ...Object.fromEntries(others) } };
}

function responsesOf(route: DescribedRoute): Record<string, Body> {
  const { path, status = 200, redirects, etag, snapshot = true, history } = route;
  const { errors = problems, notFound, notFoundBody = errors.schema, refusals = {}, deprecated } = route;
  const hasBody = bodyOf(route) !== undefined;
  const canBeInvalid = hasBody || parametersOf(route).length > 0 || isOwnPath(path);
  const responses: Record<string, Body> = { [status]: successOf(route) };
  const refusal = (meaning: string): Body => json(meaning, errors.schema);
  if (redirects !== undefined) responses[302] = { description: redirects };
  if (etag !== null) responses[304] = { description: 'The copy named in If-None-Match is still current' };
  if (canBeInvalid) responses[400] = refusal('A parameter or the body is invalid');
  if (needsKey(route)) responses[401] = refusal('The API key is missing or wrong');
  if (notFound !== undefined) responses[404] = json(notFound, notFoundBody);
  if (deprecated !== undefined) {
    responses[410] = json('The route is retired: the operator switched it off, or its sunset date has passed', Problem);
  }
  if (hasBody) responses[413] = refusal('The body is too large');
  if (hasBody) responses[415] = refusal('The body is not sent as JSON');
  if (snapshot) responses[503] = unavailable(errors);
  for (const [code, meaning] of Object.entries(refusals)) responses[code] = refusal(meaning);
  return snapshot ? withHeaders(responses, history) : responses;
}

const MIN_HEIGHT = {
  ...parameter('header', MIN_HEIGHT_HEADER, Type.Optional(MinHeight)),
  description: `Minimum height of the chain for the response. The request waits for it, ${MAX_WAIT_MS / 1000} second at most.`,
};

const HEIGHT = {
  description: 'Height of the chain when the response was made; 0 before the first block',
  schema: Height,
};

const HISTORY_FROM = {
  description:
    'Height of the first block of the server, if it began at a block: the answer has nothing older. The errors `BEFORE_HISTORY`, `HISTORY_INCOMPLETE` and `ASKING_NODE` have it too. A server with the whole chain sends none.',
  schema: HistoryFrom,
};

const HEIGHT_STATUSES = /^([23]..|404)$/;
/** Statuses of responses that may have nothing older than a block. */
const HISTORY_STATUSES = /^(200|304)$/;

function withHeaders(responses: Record<string, Body>, history: HistoryRequirement): Record<string, Body> {
  const height = { [HEIGHT_HEADER]: { $ref: '#/components/headers/Height' } };
  const both = { ...height, [HISTORY_HEADER]: { $ref: '#/components/headers/HistoryFrom' } };
  const headersOf = (status: string) => (isPartial(history) && HISTORY_STATUSES.test(status) ? both : height);
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [
      status,
      HEIGHT_STATUSES.test(status) ? { ...response, headers: headersOf(status) } : response,
    ]),
  );
}

export interface RecordedExample {
  /** Parameters that differ from the examples of their schemas. */
  parameters?: Readonly<Record<string, unknown>>;
  body?: unknown;
  /** Body of the response; undefined if it has none. */
  answer?: unknown;
}

type Operation = ReturnType<typeof operation>;

function withExample(operation: Operation, { parameters = {}, body }: RecordedExample): Operation {
  const { requestBody } = operation;
  const examples = operation.parameters.map((entry) => ({
    ...entry,
    example: parameters[entry.name] ?? entry.example,
  }));
  if (requestBody === undefined || body === undefined) return { ...operation, parameters: examples };
  const content = { [JSON_TYPE]: { ...requestBody.content[JSON_TYPE], example: body } };
  return { ...operation, parameters: examples, requestBody: { ...requestBody, content } };
}

const JSON_TYPE = 'application/json';
const schemaOf = (body: Pick<Body, 'content'> | undefined): TSchema | undefined => body?.content?.[JSON_TYPE]?.schema;

/** The parts of the document, except the routes. */
export interface ApiDescription {
  title: string;
  description: string;
  tags: { name: string; description: string }[];
  /** Recorded examples by operation id. */
  examples: Readonly<Record<string, RecordedExample>>;
}

/** A relative URL, so that the server is the one the document was loaded from, also behind a reverse proxy. */
const SERVERS = [{ url: '/', description: 'This server' }];

/** The document without the routes, for `@elysiajs/swagger`. @param version of the API */
export const documentationOf = (version: string, { title, description, tags }: ApiDescription) => ({
  openapi: '3.1.0',
  info: { title, description, version },
  servers: SERVERS,
  tags,
});

type Paths = Record<string, Record<string, Operation>>;

export interface SwaggerDocument {
  paths: Paths;
}

/**
 * Completes the document of `@elysiajs/swagger`: adds examples, and moves schemas with a name to components.
 * @throws Error if two schemas have the same name
 */
export function complete(document: SwaggerDocument, examples: ApiDescription['examples']): object {
  const operations = Object.entries(document.paths).flatMap(([routedPath, methods]) =>
    Object.entries(methods).map(([method, routed]) => ({ method, ...publishedOperation(routedPath, routed) })),
  );
  const paths: Paths = {};
  for (const { path, method, operation } of operations) {
    paths[path] = { ...paths[path], [method]: withExample(operation, examples[operation.operationId] ?? {}) };
  }
  const { value, schemas } = withReferences(paths);
  for (const { operation } of operations) {
    const success = operation.responses[200] ?? operation.responses[202];
    addExamples(schemas, schemaOf(success), examples[operation.operationId]?.answer);
  }
  return {
    ...document,
    paths: value,
    components: {
      securitySchemes: { [KEY_SCHEME]: { type: 'apiKey', in: 'header', name: 'X-Api-Key' } },
      headers: { Height: HEIGHT, HistoryFrom: HISTORY_FROM },
      schemas,
    },
  };
}

/**
 * Returns the published path of an operation. The router numbers the parameters of a path, and the plugin puts these
 * before the parameters of the operation.
 */
function publishedOperation(routedPath: string, operation: Operation): { path: string; operation: Operation } {
  const numbered = /\{\w+\}/g;
  const parameters = operation.parameters.slice(routedPath.match(numbered)?.length ?? 0);
  const names = parameters.values();
  const path = routedPath.replace(numbered, () => `{${names.next().value?.name}}`);
  return { path, operation: { ...operation, parameters } };
}

/** Adds an answer as the example of its schema; for a list, also as the examples of its items. The first example is used. */
function addExamples(schemas: Record<string, Schema>, schema: TSchema | undefined, answer: unknown): void {
  if (schema === undefined || answer === undefined) return;
  const { results, ...others } = answer as { results?: unknown[] };
  if (schema.extends !== undefined && results !== undefined) {
    addExamples(schemas, schema.extends, others);
    addExamples(schemas, schema.properties.results.items, results[0]);
    return;
  }
  const component = schemas[schema.$id ?? ''];
  if (component !== undefined) component.examples ??= [answer];
}

/** A schema of a route, or of the document. Only the members that this file reads have a type. */
interface Schema {
  [member: string]: unknown;
  $id?: string | undefined;
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  description?: string | undefined;
  examples?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: unknown;
  patternProperties?: Record<string, Schema>;
  anyOf?: Schema[];
  /** The schema whose members it also has. */
  extends?: Schema;
}

/**
 * Replaces schemas that have a name by references, and returns them by name. Unions take the form that client generators handle
 * best: literals become an `enum`, null a type, and objects with a discriminating property `oneOf` with a `discriminator`.
 * @throws Error if two schemas have the same name
 */
function withReferences<T>(value: T): { value: T; schemas: Record<string, Schema> } {
  const schemas: Record<string, Schema> = {};
  /** Results by schema, since schemas occur many times. */
  const results = new Map<object, unknown>();

  function referring<Part>(part: Part): Part {
    if (typeof part !== 'object' || part === null) return part;
    if (!results.has(part)) results.set(part, Array.isArray(part) ? part.map(referring) : writeSchema(part as Schema));
    return results.get(part) as Part;
  }

  function writeSchema({ $id: name, anyOf, patternProperties, extends: base, rule, ...rest }: Schema): Schema {
    if (base !== undefined) return writeSchema({ ...extending(base, rest), $id: name });
    const schema: Schema = {
      ...(anyOf === undefined ? {} : union(anyOf, name)),
      ...(patternProperties === undefined
        ? {}
        : { additionalProperties: referring(Object.values(patternProperties)[0]) }),
      ...Object.fromEntries(Object.entries(rest).map(([member, part]) => [member, referring(part)])),
    };
    if (name === undefined) return schema;
    if (schemas[name] !== undefined && !Bun.deepEquals(schemas[name], schema))
      throw new Error(`two schemas have the name ${name}`);
    schemas[name] = schema;
    return { $ref: `#/components/schemas/${name}` };
  }

  function union(branches: readonly Schema[], name: string | undefined): Schema {
    const words = wordsOf({ anyOf: [...branches] });
    if (words.length > 0) return { type: 'string', enum: words };
    if (name !== undefined) {
      const discriminator = discriminatorOf(branches);
      if (discriminator !== null) return discriminated(branches, discriminator, name);
    }
    const written = branches.map(referring);
    return nullable(written) ?? { anyOf: written };
  }

  /** Writes a union of objects, with a base for their common members. */
  function discriminated(branches: readonly Schema[], { property, words }: Discriminator, name: string): Schema {
    const base = commonTo(`${name}Base`, branches);
    const oneOf = branches.map((branch, index) => {
      const $id = branch.$id ?? `${capitalised(words[index]?.[0] ?? '')}${name}`;
      return writeSchema({ ...extending(base, branch), $id });
    });
    const mapping = Object.fromEntries(
      words.flatMap((branchWords, index) => branchWords.map((word) => [word, oneOf[index]?.$ref])),
    );
    return { oneOf, discriminator: { propertyName: property, mapping } };
  }

  return { value: referring(value), schemas };
}

/** Returns a union of a type and null as one schema with both types; null for other unions. */
function nullable(branches: readonly Schema[]): Schema | null {
  const [first, second] = branches;
  if (branches.length !== 2 || typeof first?.type !== 'string' || second?.type !== 'null') return null;
  const { const: literal, enum: words, ...rest } = first;
  const literals = literal === undefined ? words : [literal];
  const schema = { ...rest, type: [first.type, 'null'] };
  return literals === undefined ? schema : { ...schema, enum: [...literals, null] };
}

/** Returns an object schema as `allOf` of a base and its additional members. */
function extending(base: Schema | null, { properties = {}, required = [], description, ...rest }: Schema): Schema {
  if (base === null) return { ...rest, required, properties, description };
  const isOwn = (name: string) => !Object.hasOwn(base.properties ?? {}, name);
  return {
    description,
    type: 'object',
    allOf: [base],
    required: required.filter(isOwn),
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => isOwn(name))),
  };
}

/** The string literals that a schema accepts; empty if it accepts other values. */
function wordsOf({ const: only, anyOf = [] }: Schema): string[] {
  if (typeof only === 'string') return [only];
  const words = anyOf.map(wordsOf);
  return words.every(({ length }) => length > 0) ? words.flat() : [];
}

interface Discriminator {
  property: string;
  /** The literals of the property in each object. */
  words: string[][];
}

/** Returns the property that discriminates objects; null if there is none. */
function discriminatorOf(objects: readonly Schema[]): Discriminator | null {
  for (const property of Object.keys(objects[0]?.properties ?? {})) {
    const words = objects.map(({ properties = {}, required = [] }) =>
      required.includes(property) ? wordsOf(properties[property] ?? {}) : [],
    );
    const all = words.flat();
    if (words.every(({ length }) => length > 0) && new Set(all).size === all.length) return { property, words };
  }
  return null;
}

const MIN_SHARED_MEMBERS = 4;

/** A schema of the members that all objects share; null if they share too few, or allow no additional members. */
function commonTo($id: string, objects: readonly Schema[]): Schema | null {
  if (objects.some(({ additionalProperties }) => additionalProperties === false)) return null;
  const isRequiredIn = ({ required = [] }: Schema, name: string): boolean => required.includes(name);
  const [first = {}, ...others] = objects;
  const common = Object.entries(first.properties ?? {}).filter(([name, schema]) =>
    others.every(
      (other) =>
        Bun.deepEquals(other.properties?.[name], schema) && isRequiredIn(other, name) === isRequiredIn(first, name),
    ),
  );
  if (common.length < MIN_SHARED_MEMBERS) return null;
  const required = first.required?.filter((name) => common.some(([member]) => member === name)) ?? [];
  return { $id, type: 'object', required, properties: Object.fromEntries(common) };
}

/** `contract_call` as a part of a schema's name: `ContractCall`. */
const capitalised = (word: string): string =>
  (word.match(/[a-zA-Z0-9]+/g) ?? []).map((part) => part.charAt(0).toUpperCase() + part.slice(1)).join('');

/** A value that a schema accepts: its example, or its literal; undefined if it has neither. */
function exampleOf(schema: TSchema): unknown {
  const { examples, default: defaultValue, const: only, anyOf, items, type } = schema;
  if (examples !== undefined) return examples[0];
  if (defaultValue !== undefined) return defaultValue;
  if (anyOf !== undefined) return exampleOf(anyOf[0]);
  if (type === 'array') return [exampleOf(items)];
  return type === 'boolean' ? true : only;
}

function parameter(location: 'path' | 'query' | 'header', name: string, schema: TSchema) {
  const { description, explode = false, examples: _, ...rest } = schema;
  const example = exampleOf(schema);
  const required = location === 'path' || (!(OptionalKind in schema) && schema.default === undefined);
  const style = schema.type === 'array' ? { style: 'form' as const, explode } : {};
  return {
    name,
    in: location,
    ...(required ? { required } : {}),
    ...(description === undefined ? {} : { description }),
    ...style,
    schema: rest,
    example,
  };
}

/** A JSON body. A function declaration, since constants above use it. */
function json(description: string, schema: TSchema): Body {
  return { description, content: { [JSON_TYPE]: { schema } } };
}
