/** Path and query parameters: parsed and checked by their schemas, and encoded again in the API's form. */
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
import { percentDecoded } from '../codec/utf8.ts';
import { patternMistake } from './checker.ts';
import { badPath, ParameterError, type ParameterLocation } from './errors.ts';
import { pathSegment, queryText } from './request-url.ts';

/** Parses the text of a parameter. @throws ParameterError with the parameter and the rule it breaks */
type ReadText = (text: string, parameter: ParameterLocation) => unknown;

/** Thrown by the decoder of a schema for a rule that no pattern can express, such as a checksum. */
export class InvalidValue extends Error {
  override readonly name = 'InvalidValue';
  /** @param what the expected value: `STX address` */
  constructor(
    readonly what: string,
    readonly reason: string,
  ) {
    super(reason);
  }
}

/** Makes the parser of a parameter's text. @throws Error for a schema of a type that parameters can't have */
export function textReader(schema: TSchema): ReadText {
  const read = plainReader(schema);
  const decode = decoderOf(schema);
  if (decode === null) return read;
  return (text, parameter) => {
    const value = read(text, parameter);
    try {
      return decode(value);
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      const { what, reason } = error;
      throw new ParameterError(parameter, (name) => `invalid ${what} in ${name}: ${reason}`);
    }
  };
}

/**
 * Makes the parser of a list: repeated keys, comma-separated values, or both; with `explode` in its schema, repeated keys
 * only. Spaces after commas are ignored. Messages number the items from 0: `querystring/tx_id/1`.
 */
function listReader(schema: TSchema, parameter: ParameterLocation): (texts: readonly string[]) => unknown[] {
  const { items, maxItems, explode } = schema as TSchema & { items: TSchema };
  const read = textReader(items);
  return (texts) => {
    const parts = explode === true ? texts : texts.flatMap((text) => text.split(/, */));
    if (parts.length > maxItems) throw new ParameterError(parameter, `must NOT have more than ${maxItems} items`);
    return parts.map((part, index) => read(part, { ...parameter, path: [...parameter.path, String(index)] }));
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
  return (text, parameter) => {
    if (!/^-?[0-9]+$/.test(text)) throw new ParameterError(parameter, 'must be integer');
    const value = Number(text);
    if (value < minimum) throw new ParameterError(parameter, `must be >= ${minimum}`);
    if (value > maximum) throw new ParameterError(parameter, `must be <= ${maximum}`);
    if (!Number.isSafeInteger(value)) throw new ParameterError(parameter, 'must be integer');
    return value;
  };
}

function readBoolean(text: string, parameter: ParameterLocation): boolean {
  if (text !== 'true' && text !== 'false') throw new ParameterError(parameter, 'must be boolean');
  return text === 'true';
}

function choiceReader(schema: TSchema): ReadText {
  const branches: TSchema[] = schema.anyOf ?? [schema];
  const allowed = new Set(branches.map((branch): unknown => branch.const));
  if (branches.some((branch) => typeof branch.const !== 'string')) throw new Error('not a choice of words');
  const rule = `must be equal to one of the allowed values (${[...allowed].join(', ')})`;
  return (text, parameter) => {
    if (!allowed.has(text)) throw new ParameterError(parameter, rule);
    return text;
  };
}

function stringReader({ pattern, minLength, maxLength, rule }: TSchema): ReadText {
  const shape = pattern === undefined ? null : new RegExp(pattern);
  const mistake = patternMistake(rule);
  return (text, parameter) => {
    if (text.length < minLength)
      throw new ParameterError(parameter, `must NOT have fewer than ${minLength} characters`);
    if (text.length > maxLength) throw new ParameterError(parameter, `must NOT have more than ${maxLength} characters`);
    if (shape !== null && !shape.test(text)) throw new ParameterError(parameter, mistake);
    return text;
  };
}

/** Returns a parameter's text as it was sent, percent-decoded; null if it wasn't sent. */
export type SentText = (name: string) => string | null;

/**
 * Makes the reader of the texts of a route's parameters.
 * @param path of the route, as OpenAPI writes it
 */
export function requestTexts(path: string, params: TProperties, query: TProperties) {
  const segments = path.split('/');
  const normalizers = new Map(
    Object.entries({ ...query, ...params }).map(([name, schema]) => [name, normalizer(schema)]),
  );
  return {
    has: (name: string): boolean => normalizers.has(name),
    /** `normalized` returns a text in the form that its schema encodes, and null for an invalid text. */
    of(url: string): { sent: SentText; normalized: SentText } {
      const sent: SentText = (name) =>
        name in params
          ? percentDecoded(pathSegment(url, segments.indexOf(`{${name}}`)))
          : (parsePairs(queryText(url)).find((pair) => pair.name === name)?.value ?? null);
      return { sent, normalized: (name) => normalizers.get(name)?.(sent(name)) ?? null };
    },
  };
}

/** The location in errors that {@link normalizer} catches. */
const NOWHERE: ParameterLocation = { location: 'querystring', path: [] };

/**
 * Makes a function that decodes a text by a schema and encodes it again: different texts of one value become the same.
 * @returns the function; it returns null for a missing text, or one that the schema refuses
 */
export function normalizer(schema: TSchema): (text: string | null) => string | null {
  const read = lazy(() => textReader(schema));
  return (text) => {
    try {
      return text === null ? null : encode(schema, read()(text, NOWHERE));
    } catch (error) {
      if (!(error instanceof ParameterError)) throw error;
      return null;
    }
  };
}

function encode(schema: TSchema, value: unknown): string {
  if (!(TransformKind in schema)) return String(value);
  const { Encode } = schema[TransformKind] as { Encode(value: unknown): unknown };
  return String(Encode(value));
}

export type Values<P extends TProperties> = StaticDecode<TObject<P>>;

const MAX_NAME_LENGTH = 100;

interface Field {
  name: string;
  schema: TSchema;
  parameter: ParameterLocation;
}

const toFields = (location: ParameterLocation['location'], properties: TProperties): Field[] =>
  Object.entries(properties).map(([name, schema]) => ({ name, schema, parameter: { location, path: [name] } }));

/** Makes a function from a request's URL to the values of its path parameters. @param path `/transactions/{tx_id}` */
export function pathReader<P extends TProperties>(path: string, properties: P): (url: string) => Values<P> {
  const segments = path.split('/');
  const fields = toFields('params', properties).map((field) => {
    const index = segments.indexOf(`{${field.name}}`);
    if (index < 0) throw new Error(`${path} has no parameter ${field.name}`);
    return { ...field, index, read: textReader(field.schema) };
  });
  const none = Object.freeze({}) as Values<P>;
  if (fields.length === 0) return () => none;
  return (url) => {
    const values: Record<string, unknown> = {};
    for (const { name, parameter, index, read } of fields) {
      const text = percentDecoded(pathSegment(url, index));
      if (text === null) throw badPath(url);
      values[name] = read(text, parameter);
    }
    return values as Values<P>;
  };
}

/** The routes of a chainhook's delivery log and backfills. */
const OWN_HOOK_PATH = /^\/chainhooks(\/v1)?\/me\/\{uuid\}\/(deliveries|backfills)\b/;

/**
 * Whether a path is one of Stackside's own routes, which no other API of Stacks has. They refuse unknown parameters; other
 * routes ignore them, since clients of other servers rely on that.
 */
export const isOwnPath = (path: string): boolean => path.startsWith('/stackside/v1/') || OWN_HOOK_PATH.test(path);

/** Handles a query parameter that the route's schemas don't have. @throws ParameterError */
type OnUnknown = (name: string) => void;

/** Documented name of parameters with names that clients choose: `field.NAME` means `field` and `field.…`. */
const CLIENT_NAMED = /\.NAME$/;

/**
 * Refuses unknown query parameters: if they were ignored, a mistyped filter would silently return the whole list.
 * @param documented names of the route's parameters, as in the OpenAPI document
 */
export function refuseUnknown(documented: readonly string[]): OnUnknown {
  const families = documented.filter((name) => CLIENT_NAMED.test(name)).map((name) => name.replace(CLIENT_NAMED, ''));
  const names = documented.filter((name) => !CLIENT_NAMED.test(name));
  const has = documented.length === 0 ? 'it has none' : `it has ${documented.join(', ')}`;
  return (name) => {
    const [first = ''] = name.split('.', 1);
    if (families.includes(first)) return;
    const suggestion = nearestName(name, [...names, ...families.map((family) => family + name.slice(first.length))]);
    const shortName = name.slice(0, MAX_NAME_LENGTH);
    throw new ParameterError(
      { location: 'querystring', path: [shortName] },
      `is not a parameter of this route: ${suggestion === null ? has : `did you mean ${suggestion}?`}`,
    );
  };
}

/**
 * Makes a function from a request's URL to the values of its query parameters, with defaults.
 * @param onUnknown is called with the name of each unknown parameter; without it, they are ignored
 */
export function queryReader<Q extends TProperties>(properties: Q, onUnknown?: OnUnknown): (url: string) => Values<Q> {
  const fields = toFields('querystring', properties).map(queryField);
  const indexes = new Map(fields.map(({ name }, index) => [name, index]));
  const valuesOf = (texts: readonly (string[] | undefined)[]) => {
    const values: Record<string, unknown> = {};
    fields.forEach((field, index) => {
      const value = field.read(texts[index]);
      if (value !== undefined) values[field.name] = value;
    });
    return values as Values<Q>;
  };
  const needed = fields.some(({ required }) => required);
  const absent = needed ? null : (Object.freeze(valuesOf([])) as Values<Q>);
  return (url) => {
    const text = queryText(url);
    if (absent !== null && (text === '' || (fields.length === 0 && onUnknown === undefined))) return absent;
    return valuesOf(groupTexts(text, indexes, fields, onUnknown));
  };
}

/** The texts of each field, in the order of the fields. */
function groupTexts(
  query: string,
  indexes: ReadonlyMap<string, number>,
  fields: readonly Field[],
  onUnknown: OnUnknown | undefined,
): string[][] {
  const texts: string[][] = [];
  for (const { encodedName, name, value } of parsePairs(query)) {
    const index = indexes.get(name ?? '');
    if (index === undefined) {
      onUnknown?.(name ?? encodedName);
      continue;
    }
    if (value === null) throw new ParameterError(fields[index]!.parameter, 'must have valid percent-encoding');
    const text = texts[index];
    if (text === undefined) texts[index] = [value];
    else text.push(value);
  }
  return texts;
}

/**
 * Returns the texts of parameters with names that clients choose: the prefix itself, or the prefix, a dot and more.
 * @param target path and query
 * @returns texts by their names, in the order of the query
 * @throws ParameterError for malformed percent-encoding
 */
export function textsUnder(target: string, prefix: string): Map<string, string[]> {
  const texts = new Map<string, string[]>();
  for (const { name, value } of parsePairs(queryText(target))) {
    if (name === null || (name !== prefix && !name.startsWith(`${prefix}.`))) continue;
    if (value === null) {
      throw new ParameterError({ location: 'querystring', path: [name] }, 'must have valid percent-encoding');
    }
    const values = texts.get(name);
    if (values === undefined) texts.set(name, [value]);
    else values.push(value);
  }
  return texts;
}

/** A name and a value of a query, percent-decoded; null if the encoding is malformed. */
interface Pair {
  encodedName: string;
  name: string | null;
  value: string | null;
}

/** The names and values of a query, in its order. */
function parsePairs(query: string): Pair[] {
  const pairs: Pair[] = [];
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const encodedName = equals < 0 ? pair : pair.slice(0, equals);
    const value = equals < 0 ? '' : decodedQuery(pair.slice(equals + 1));
    pairs.push({ encodedName, name: decodedQuery(encodedName), value });
  }
  return pairs;
}

/** Decodes a name or value of a query; null if the percent-encoding is malformed. */
const decodedQuery = (text: string): string | null => percentDecoded(text.replaceAll('+', ' '));

function queryField(field: Field): Field & { required: boolean; read(texts: string[] | undefined): unknown } {
  const { name, schema, parameter } = field;
  const fallback: unknown = schema.default;
  const required = fallback === undefined && !(OptionalKind in schema);
  const readTexts = schema.type === 'array' ? listReader(schema, parameter) : once(textReader(schema), parameter);
  const read = (texts: string[] | undefined) => {
    if (texts !== undefined) return readTexts(texts);
    if (required) throw new ParameterError(parameter, () => `querystring must have required property '${name}'`);
    return fallback;
  };
  return { ...field, required, read };
}

const once =
  (read: ReadText, parameter: ParameterLocation) =>
  (texts: string[]): unknown => {
    if (texts.length > 1) throw new ParameterError(parameter, `must be given once, not ${texts.length} times`);
    return read(texts[0]!, parameter);
  };
