/** Parameters of a request as texts, by which another URL names the same thing. */
import { type TProperties, TransformKind, type TSchema } from '@sinclair/typebox';
import { ParameterError, type ParameterPlace } from './errors.ts';
import { decoded, pathSegment, queryText } from './request-url.ts';
import { listReader, textReader } from './value-reader.ts';

/** The text of a parameter as it was sent, decoded; null where it wasn't. */
export type SentText = (name: string) => string | null;

export interface Spelling {
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
  const schemas = { ...query, ...params };
  const places = new Map(Object.keys(params).map((name) => [name, segments.indexOf(`{${name}}`)]));

  function textsOf(url: string, name: string): string[] {
    const place = places.get(name);
    if (place === undefined) return new URLSearchParams(queryText(url)).getAll(name);
    const text = decoded(pathSegment(url, place));
    return text === null ? [] : [text];
  }

  return {
    has: (name: string): boolean => Object.hasOwn(schemas, name),
    of: (url: string): Spelling => ({
      sent: (name) => textsOf(url, name)[0] ?? null,
      spelled(name) {
        const texts = textsOf(url, name);
        const schema = schemas[name];
        return texts.length === 0 || schema === undefined ? [] : spellings(schema, texts);
      },
    }),
  };
}

/** A text as a schema encodes its value; null where the schema refuses it. */
export const spelling = (schema: TSchema, text: string): string | null => spellings(schema, [text])[0] ?? null;

/** Nobody reads the messages that name it. */
const NOWHERE: ParameterPlace = { place: 'querystring', path: [] };

function spellings(schema: TSchema, texts: readonly string[]): string[] {
  try {
    if (schema.type === 'array') return listReader(schema, NOWHERE)(texts).map((item) => encoded(schema.items, item));
    const read = textReader(schema);
    return texts.map((text) => encoded(schema, read(text, NOWHERE)));
  } catch (error) {
    if (!(error instanceof ParameterError)) throw error;
    return [];
  }
}

function encoded(schema: TSchema, value: unknown): string {
  if (!(TransformKind in schema)) return String(value);
  const { Encode } = schema[TransformKind] as { Encode(value: unknown): unknown };
  return String(Encode(value));
}
