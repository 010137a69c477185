/**
 * Parameters of the path and the query: parsed and checked by the schemas that also document them.
 *
 * The framework's own validation is not used: it coerces before it checks, and loses the name of what it refuses.
 * Everything that can be done once is done when a route is declared.
 */

import { OptionalKind, type StaticDecode, type TObject, type TProperties, type TSchema } from '@sinclair/typebox';
import { nearestName } from '../base/nearest-name.ts';
import { badPath, ParameterError, type ParameterPlace } from './errors.ts';
import { decoded, pathSegment, queryText } from './request-url.ts';
import { listReader, type ReadText, textReader } from './value-reader.ts';

export type Values<P extends TProperties> = StaticDecode<TObject<P>>;

/** The longest path parameter, decoded: the longest asset identifier has 212 characters, NFT values more. */
const MAX_PATH_PARAMETER = 1024;
/** Characters of an unknown parameter's name that its error shows. */
const LONGEST_SHOWN = 100;

interface Field {
  name: string;
  schema: TSchema;
  at: ParameterPlace;
}

const fieldsOf = (place: ParameterPlace['place'], properties: TProperties): Field[] =>
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

function limited(at: ParameterPlace, text: string): string {
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
  (read: ReadText, at: ParameterPlace) =>
  (texts: string[]): unknown => {
    if (texts.length > 1) throw new ParameterError(at, `must be given once, not ${texts.length} times`);
    return read(texts[0]!, at);
  };
