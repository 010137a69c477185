/** The server's OpenAPI document in the form that the API reference shows, and the requests of its forms. */
import { urlOf } from '../api/api.ts';
import { hasWords } from './format.ts';

/** A JSON schema, with the keywords that the document uses. */
export interface Schema {
  $ref?: string;
  type?: string | readonly string[];
  description?: string;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  items?: Schema;
  additionalProperties?: boolean | Schema;
  allOf?: readonly Schema[];
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  const?: unknown;
  enum?: readonly unknown[];
  examples?: readonly unknown[];
  default?: unknown;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  description?: string;
  required?: boolean;
  /** Whether a list is sent as repeated keys, otherwise with commas. */
  explode?: boolean;
  schema: Schema;
  example?: unknown;
}

/** A response, or the body of a request. */
interface Body {
  description?: string;
  required?: boolean;
  content?: Readonly<Record<string, { schema: Schema; example?: unknown }>>;
}

interface DocumentedOperation {
  operationId: string;
  summary: string;
  description?: string;
  tags: readonly string[];
  deprecated?: boolean;
  security?: readonly unknown[];
  parameters?: readonly Parameter[];
  requestBody?: Body;
  responses: Readonly<Record<string, Body>>;
}

/** The parts of the document that the reference shows. */
export interface ApiDocument {
  info: { title: string; description: string; version: string };
  tags: readonly { name: string; description: string }[];
  paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  components: { schemas: Readonly<Record<string, Schema>> };
}

const JSON_TYPE = 'application/json';

/** Returns the last part of a reference: `Block` for `#/components/schemas/Block`. */
const nameOf = ($ref: string): string => $ref.slice($ref.lastIndexOf('/') + 1);

function operationOf(
  path: string,
  method: string,
  { operationId: id, summary, description = '', tags: [tag = ''], requestBody, ...documented }: DocumentedOperation,
) {
  const answers = Object.entries(documented.responses).map(([status, { description: meaning = '', content = {} }]) => {
    const schema = Object.values(content)[0]?.schema ?? null;
    return { status, description: meaning, schema, types: Object.keys(content) };
  });
  const json = requestBody?.content?.[JSON_TYPE];
  return {
    id,
    path,
    summary,
    description,
    tag,
    answers,
    method: method.toUpperCase(),
    isDeprecated: documented.deprecated === true,
    needsKey: documented.security !== undefined,
    parameters: documented.parameters ?? [],
    /** JSON body of its requests; null if they have none. */
    body: json === undefined ? null : { ...json, required: requestBody?.required === true },
    /** Media types of its successful response. */
    types: answers.find(({ status }) => status.startsWith('2'))?.types ?? [],
  };
}

export type Operation = ReturnType<typeof operationOf>;

/** Reads the operations of a document, in groups by their tag. */
export function readReference({ info, tags, paths, components }: ApiDocument) {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, documented]) => operationOf(path, method, documented)),
  );
  const groups = tags.map(({ name, description }) => ({
    name,
    description,
    operations: operations.filter(({ tag }) => tag === name),
  }));
  return { description: info.description, version: info.version, groups, schemas: components.schemas };
}

export type Reference = ReturnType<typeof readReference>;
export type Group = Reference['groups'][number];

/** Reports whether an operation contains each word of a text. */
export const isMatch = ({ method, path, id, summary, description, tag }: Operation, text: string): boolean =>
  hasWords(`${method} ${path} ${id} ${summary} ${description} ${tag}`, text);

export type Schemas = Reference['schemas'];

/** A member of an object. */
export interface Field {
  name: string;
  schema: Schema;
  isRequired: boolean;
}

/** Returns a schema, or the one that it refers to. */
export const resolveSchema = (schema: Schema, schemas: Schemas): Schema =>
  schema.$ref === undefined ? schema : (schemas[nameOf(schema.$ref)] ?? schema);

/** Returns the members of an object, including inherited ones. */
export function fieldsOf(schema: Schema, schemas: Schemas): Field[] {
  const { allOf = [], properties = {}, required = [], additionalProperties } = resolveSchema(schema, schemas);
  const others = typeof additionalProperties === 'object' ? { '…': additionalProperties } : {};
  return [
    ...allOf.flatMap((base) => fieldsOf(base, schemas)),
    ...Object.entries({ ...properties, ...others }).map(([name, field]) => ({
      name,
      schema: field,
      isRequired: required.includes(name),
    })),
  ];
}

/** Returns the schemas that a value may have, if there are several; the types of null are left out. */
export function variantsOf(schema: Schema, schemas: Schemas): readonly Schema[] {
  const { oneOf, anyOf } = resolveSchema(schema, schemas);
  return (oneOf ?? anyOf ?? []).filter(({ type }) => type !== 'null');
}

/** Returns the schema of the items of a list, also of a list in a list; the schema itself if it is none. */
export function itemOf(schema: Schema, schemas: Schemas): Schema {
  const { items } = resolveSchema(schema, schemas);
  return items === undefined ? schema : itemOf(items, schemas);
}

/** Returns the type of a schema in words: `array of Block`, `string or null`. */
export function typeText(schema: Schema, schemas: Schemas): string {
  if (schema.$ref !== undefined) {
    const target = resolveSchema(schema, schemas);
    const isPlain = fieldsOf(target, schemas).length === 0 && variantsOf(target, schemas).length === 0;
    return isPlain ? typeText(target, schemas) : nameOf(schema.$ref);
  }
  const { type, items, enum: words, const: constant } = schema;
  if (constant !== undefined) return JSON.stringify(constant);
  if (words !== undefined) return words.map((word) => JSON.stringify(word)).join(' | ');
  if (items !== undefined) return `array of ${typeText(items, schemas)}`;
  const variants = schema.oneOf ?? schema.anyOf;
  if (variants !== undefined) return [...new Set(variants.map((variant) => typeText(variant, schemas)))].join(' or ');
  if (type !== undefined) return typeof type === 'string' ? type : type.join(' or ');
  return fieldsOf(schema, schemas).length > 0 ? 'object' : 'any';
}

/** Returns the limits and the default of a value in words; empty if it has none. */
export function limitsText({ minimum, maximum, minItems, maxItems, default: defaultValue }: Schema): string {
  const limit = (name: string, value: unknown) => (value === undefined ? [] : [`${name} ${JSON.stringify(value)}`]);
  return [
    ...limit('at least', minimum),
    ...limit('at most', maximum),
    ...limit('items: at least', minItems),
    ...limit('items: at most', maxItems),
    ...limit('default', defaultValue),
  ].join(', ');
}

/** Returns an example of a value; undefined if the document has none. */
export function exampleOf(schema: Schema, schemas: Schemas): unknown {
  const { examples, const: constant, enum: words, items, allOf, properties } = resolveSchema(schema, schemas);
  if (examples?.[0] !== undefined) return examples[0];
  if (constant !== undefined) return constant;
  if (words !== undefined) return words[0];
  if (items !== undefined) {
    const item = exampleOf(items, schemas);
    return item === undefined ? undefined : [item];
  }
  if (allOf === undefined && properties === undefined) {
    const [first] = variantsOf(schema, schemas);
    return first === undefined ? undefined : exampleOf(first, schemas);
  }
  const bases = (allOf ?? []).map((base) => exampleOf(base, schemas));
  const members = Object.entries(properties ?? {}).map(([name, field]) => [name, exampleOf(field, schemas)] as const);
  const example = Object.assign({}, ...bases, Object.fromEntries(members.filter(([, value]) => value !== undefined)));
  return Object.keys(example).length === 0 ? undefined : example;
}

/** Returns the example of a parameter as its field shows it; empty if there is none. */
export const exampleText = ({ example, schema }: Parameter): string => {
  const value = example ?? schema.examples?.[0] ?? '';
  return Array.isArray(value) ? value.join(',') : String(value);
};

/** The contents of an operation's form. */
export interface FormContents {
  /** Values of the parameters by name; an empty one isn't sent. */
  values: Readonly<Record<string, string>>;
  body: string;
  key: string;
  /** Media type to request; empty for the usual type. */
  type: string;
}

/** Returns the request of an operation's form. */
export function toRequest({ method, path, parameters, body }: Operation, contents: FormContents) {
  const params: Record<string, string | string[] | null> = {};
  const headers: Record<string, string> = {};
  for (const { name, in: location, explode = false } of parameters) {
    const value = contents.values[name]?.trim() ?? '';
    if (location === 'path') params[name] = value;
    else if (value === '') continue;
    else if (location === 'header') headers[name] = value;
    else params[name] = explode ? value.split(',').map((item) => item.trim()) : value;
  }
  if (contents.type !== '') headers.accept = contents.type;
  if (contents.key !== '') headers['x-api-key'] = contents.key;
  const hasBody = body !== null && contents.body.trim() !== '';
  if (hasBody) headers['content-type'] = JSON_TYPE;
  return { method, path: urlOf(path, params), headers, body: hasBody ? contents.body : null };
}

export type Request = ReturnType<typeof toRequest>;

const shellQuote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Returns a request as a curl command. @param origin of the server: `https://api.example` */
export function toCurl({ method, path, headers, body }: Request, origin: string): string {
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${shellQuote(origin + path)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${shellQuote(`${name}: ${value}`)}`),
    ...(body === null ? [] : [`-d ${shellQuote(body)}`]),
  ].join(' \\\n  ');
}
