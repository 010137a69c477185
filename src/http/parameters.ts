/** Parameters of paths and queries: read by their schemas, checked, and spelled as the API spells them. */
import {
  OptionalKind,
  type StaticDecode,
  type TObject,
  type TProperties,
  TransformKind,
  type TSchema,
} from '@sinclair/typebox';
import { lazy } from '../base/cache.ts';
import { nearestName } from '../base/nearest-name.ts';
import { badPath, ParameterError, type ParameterLocation } from './errors.ts';
import { decoded, pathSegment, queryText } from './request-url.ts';

/**
 * @throws ParameterError naming the parameter and the rule it breaks
 */
type ReadText = (text: string, at: ParameterLocation) => unknown;

/** Thrown by the decoder of a schema, for what no pattern can tell, such as a check sum. */
export class InvalidValue extends Error {
  override readonly name = 'InvalidValue';
  /** @param what what the text should have been: `STX address` */
  constructor(
    readonly what: string,
    readonly reason: string,
  ) {
    super(reason);
  }
}

/** Makes the reader of a parameter's text. @throws Error for a schema of a type that no parameter has */
export function textReader(schema: TSchema): ReadText {
  const read = plainReader(schema);
  const decode = decoderOf(schema);
  if (decode === null) return read;
  return (text, at) => {
    const value = read(text, at);
    try {
      return decode(value);
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      const { what, reason } = error;
      throw new ParameterError(at, (name) => `invalid ${what} in ${name}: ${reason}`);
    }
  };
}

/**
 * A list, given as repeated keys, with commas, or both; with `explode` in its schema as repeated keys alone. Spaces after
 * commas don't count. Messages number its items from 0: `querystring/tx_id/1`.
 */
function listReader(schema: TSchema, at: ParameterLocation): (texts: readonly string[]) => unknown[] {
  const { items, maxItems, explode } = schema as TSchema & { items: TSchema };
  const read = textReader(items);
  return (texts) => {
    const parts = explode === true ? texts : texts.flatMap((text) => text.split(/, */));
    if (parts.length > maxItems) throw new ParameterError(at, `must NOT have more than ${maxItems} items`);
    return parts.map((part, index) => read(part, { ...at, path: [...at.path, String(index)] }));
  };
}

function decoderOf(schema: TSchema): ((value: unknown) => unknown) | null {
  if (!(TransformKind in schema)) return null;
  const { Decode } = schema[TransformKind] as { Decode(value: unknown): unknown };
  return Decode;
}

function plainReader(schema: TSchema): ReadText {
  if (schema.anyOf !== undefined || schema.const !== undefined) return choiceReader(schema);
  if (schema.type === 'integer') return integerReader(schema);
  if (schema.type === 'boolean') return readBoolean;
  if (schema.type === 'string') return stringReader(schema);
  throw new Error(`no reader for a parameter of type ${schema.type}`);
}

function integerReader({ minimum, maximum }: TSchema): ReadText {
  return (text, at) => {
    if (!/^-?[0-9]+$/.test(text)) throw new ParameterError(at, 'must be integer');
    const value = Number(text);
    if (value < minimum) throw new ParameterError(at, `must be >= ${minimum}`);
    if (value > maximum) throw new ParameterError(at, `must be <= ${maximum}`);
    if (!Number.isSafeInteger(value)) throw new ParameterError(at, 'must be integer');
    return value;
  };
}

function readBoolean(text: string, at: ParameterLocation): boolean {
  if (text !== 'true' && text !== 'false') throw new ParameterError(at, 'must be boolean');
  return text === 'true';
}

function choiceReader(schema: TSchema): ReadText {
  const branches: TSchema[] = schema.anyOf ?? [schema];
  const allowed = new Set(branches.map((branch): unknown => branch.const));
  if (branches.some((branch) => typeof branch.const !== 'string')) throw new Error('not a choice of words');
  const rule = `must be equal to one of the allowed values (${[...allowed].join(', ')})`;
  return (text, at) => {
    if (!allowed.has(text)) throw new ParameterError(at, rule);
    return text;
  };
}

function stringReader({ pattern, minLength, maxLength }: TSchema): ReadText {
  const shape = pattern === undefined ? null : new RegExp(pattern);
  return (text, at) => {
    if (text.length < minLength) throw new ParameterError(at, `must NOT have fewer than ${minLength} characters`);
    if (text.length > maxLength) throw new ParameterError(at, `must NOT have more than ${maxLength} characters`);
    if (shape !== null && !shape.test(text)) throw new ParameterError(at, `must match pattern "${pattern}"`);
    return text;
  };
}

/** The text of a parameter as it was sent, decoded; null where it wasn't. */
export type SentText = (name: string) => string | null;

interface Spelling {
  sent: SentText;
  /** The values of a parameter, spelled as their schemas encode them; empty where there is none, or it is invalid. */
  spelled(name: string): string[];
}

/**
 * Makes the reader of the parameters of one route.
 * @param path the route's own, as OpenAPI writes it
 */
export function spellingReader(path: string, params: TProperties, query: TProperties) {
  const segments = path.split('/');
  const spellers = new Map(Object.entries({ ...query, ...params }).map(([name, schema]) => [name, speller(schema)]));
  const places = new Map(Object.keys(params).map((name) => [name, segments.indexOf(`{${name}}`)]));

  function textsOf(url: string, name: string): string[] {
    const place = places.get(name);
    if (place === undefined) return new URLSearchParams(queryText(url)).getAll(name);
    const text = decoded(pathSegment(url, place));
    return text === null ? [] : [text];
  }

  return {
    has: (name: string): boolean => spellers.has(name),
    of: (url: string): Spelling => ({
      sent: (name) => textsOf(url, name)[0] ?? null,
      spelled(name) {
        return spellers.get(name)?.(textsOf(url, name)) ?? [];
      },
    }),
  };
}

/** Nobody reads the messages that name it. */
const NOWHERE: ParameterLocation = { place: 'querystring', path: [] };

/**
 * Makes what spells a text as a schema encodes its value.
 * @returns a function that returns null for a text that the schema refuses
 */
export function spelling(schema: TSchema): (text: string) => string | null {
  const spell = speller(schema);
  return (text) => spell([text])[0] ?? null;
}

/** Makes what spells the texts of one parameter; it returns an empty list where the schema refuses one of them. */
function speller(schema: TSchema): (texts: readonly string[]) => string[] {
  const readers = lazy(() => readerOf(schema));
  return (texts) => {
    if (texts.length === 0) return [];
    const { item, read } = readers();
    try {
      return read(texts).map((value) => encoded(item, value));
    } catch (error) {
      if (!(error instanceof ParameterError)) throw error;
      return [];
    }
  };
}

/** What reads the texts of a parameter as values of the schema `item`. */
function readerOf(schema: TSchema): { item: TSchema; read: (texts: readonly string[]) => unknown[] } {
  if (schema.type === 'array') return { item: schema.items, read: listReader(schema, NOWHERE) };
  const read = textReader(schema);
  return { item: schema, read: (texts) => texts.map((text) => read(text, NOWHERE)) };
}

function encoded(schema: TSchema, value: unknown): string {
  if (!(TransformKind in schema)) return String(value);
  const { Encode } = schema[TransformKind] as { Encode(value: unknown): unknown };
  return String(Encode(value));
}

export type Values<P extends TProperties> = StaticDecode<TObject<P>>;

/** The longest path parameter, decoded: the longest asset identifier has 212 characters, NFT values more. */
const MAX_PATH_PARAMETER = 1024;
/** Characters of an unknown parameter's name that its error shows. */
const LONGEST_SHOWN = 100;

interface Field {
  name: string;
  schema: TSchema;
  at: ParameterLocation;
}

const fieldsOf = (place: ParameterLocation['place'], properties: TProperties): Field[] =>
  Object.entries(properties).map(([name, schema]) => ({ name, schema, at: { place, path: [name] } }));

/** A function from a request's URL to the values of its path parameters. @param path `/transactions/{tx_id}` */
export function pathReader<P extends TProperties>(path: string, properties: P): (url: string) => Values<P> {
  const segments = path.split('/');
  const fields = fieldsOf('params', properties).map((field) => {
    const index = segments.indexOf(`{${field.name}}`);
    if (index < 0) throw new Error(`${path} has no parameter ${field.name}`);
    return { ...field, index, read: textReader(field.schema) };
  });
  const none = Object.freeze({}) as Values<P>;
  if (fields.length === 0) return () => none;
  return (url) => {
    const values: Record<string, unknown> = {};
    for (const { name, at, index, read } of fields) {
      values[name] = read(limited(at, decodedSegment(pathSegment(url, index), url)), at);
    }
    return values as Values<P>;
  };
}

function decodedSegment(text: string, url: string): string {
  const segment = decoded(text);
  if (segment === null) throw badPath(url);
  return segment;
}

function limited(at: ParameterLocation, text: string): string {
  if (text.length <= MAX_PATH_PARAMETER) return text;
  throw new ParameterError(at, `must NOT have more than ${MAX_PATH_PARAMETER} characters`);
}

/**
 * Whether a path is of the routes that no other API of Stacks has. They refuse parameters that they don't have; the others
 * ignore them, as clients of other servers rely on.
 */
export const isOwnPath = (path: string): boolean => path.startsWith('/stackside/v1/');

/** What is to become of a query's parameter that the route doesn't read by its schemas. @throws ParameterError */
type Others = (name: string) => void;

/** The name in the document of parameters whose names callers make up: `field.NAME` stands for `field` and `field.…`. */
const MADE_UP = /\.NAME$/;

/**
 * Refuses parameters that a route doesn't have, which would narrow or sort nothing without a word.
 * @param documented names of all that it has, as the document has them
 */
export function refuseUnknown(documented: readonly string[]): Others {
  const families = documented.filter((name) => MADE_UP.test(name)).map((name) => name.replace(MADE_UP, ''));
  const names = documented.filter((name) => !MADE_UP.test(name));
  const has = documented.length === 0 ? 'it has none' : `it has ${documented.join(', ')}`;
  return (name) => {
    const [first = ''] = name.split('.', 1);
    if (families.includes(first)) return;
    const meant = nearestName(name, [...names, ...families.map((family) => family + name.slice(first.length))]);
    const shown = name.slice(0, LONGEST_SHOWN);
    throw new ParameterError(
      { place: 'querystring', path: [shown] },
      `is not a parameter of this route: ${meant === null ? has : `did you mean ${meant}?`}`,
    );
  };
}

/**
 * A function from a request's URL to the values of its query, with defaults filled in.
 * @param others is called with the names of all other parameters, which are ignored if it isn't given
 */
export function queryReader<Q extends TProperties>(properties: Q, others?: Others): (url: string) => Values<Q> {
  const fields = fieldsOf('querystring', properties).map(queryField);
  const places = new Map(fields.map(({ name }, place) => [name, place]));
  const valuesOf = (texts: readonly (string[] | undefined)[]) => {
    const values: Record<string, unknown> = {};
    fields.forEach((field, place) => {
      const value = field.read(texts[place]);
      if (value !== undefined) values[field.name] = value;
    });
    return values as Values<Q>;
  };
  const needed = fields.some(({ required }) => required);
  const absent = needed ? null : (Object.freeze(valuesOf([])) as Values<Q>);
  return (url) => {
    const text = queryText(url);
    if (absent !== null && (text === '' || (fields.length === 0 && others === undefined))) return absent;
    return valuesOf(textsOf(text, places, fields, others));
  };
}

/** The texts given for each field, in the order of the fields. */
function textsOf(
  query: string,
  places: ReadonlyMap<string, number>,
  fields: readonly Field[],
  others: Others | undefined,
): string[][] {
  const texts: string[][] = [];
  for (const pair of query.split('&')) {
    const equals = pair.indexOf('=');
    const encoded = equals < 0 ? pair : pair.slice(0, equals);
    const name = decodedQuery(encoded);
    const place = places.get(name ?? '');
    if (place === undefined) {
      if (pair !== '') others?.(name ?? encoded);
      continue;
    }
    const value = equals < 0 ? '' : decodedQuery(pair.slice(equals + 1));
    if (value === null) throw new ParameterError(fields[place]!.at, 'must have valid percent-encoding');
    const given = texts[place];
    if (given === undefined) texts[place] = [value];
    else given.push(value);
  }
  return texts;
}

/**
 * The texts of parameters whose names a caller makes up: those that are a prefix, or begin with it and a dot.
 * @param target path and query
 * @returns texts by their names, in the order of the query
 * @throws ParameterError for malformed percent-encoding
 */
export function textsUnder(target: string, prefix: string): Map<string, string[]> {
  const texts = new Map<string, string[]>();
  for (const pair of queryText(target).split('&')) {
    const equals = pair.indexOf('=');
    const name = decodedQuery(equals < 0 ? pair : pair.slice(0, equals));
    if (name === null || (name !== prefix && !name.startsWith(`${prefix}.`))) continue;
    const value = equals < 0 ? '' : decodedQuery(pair.slice(equals + 1));
    if (value === null) {
      throw new ParameterError({ place: 'querystring', path: [name] }, 'must have valid percent-encoding');
    }
    const given = texts.get(name);
    if (given === undefined) texts.set(name, [value]);
    else given.push(value);
  }
  return texts;
}

/** Null where the encoding is malformed. */
function decodedQuery(text: string): string | null {
  return decoded(text.replaceAll('+', ' '));
}

function queryField(field: Field): Field & { required: boolean; read(texts: string[] | undefined): unknown } {
  const { name, schema, at } = field;
  const fallback: unknown = schema.default;
  const required = fallback === undefined && !(OptionalKind in schema);
  const readGiven = schema.type === 'array' ? listReader(schema, at) : once(textReader(schema), at);
  const read = (texts: string[] | undefined) => {
    if (texts !== undefined) return readGiven(texts);
    if (required) throw new ParameterError(at, () => `querystring must have required property '${name}'`);
    return fallback;
  };
  return { ...field, required, read };
}

const once =
  (read: ReadText, at: ParameterLocation) =>
  (texts: string[]): unknown => {
    if (texts.length > 1) throw new ParameterError(at, `must be given once, not ${texts.length} times`);
    return read(texts[0]!, at);
  };
