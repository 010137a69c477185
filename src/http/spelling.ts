/** Parameters of a request as texts, by which another URL names the same thing. */
import { type TProperties, TransformKind, type TSchema } from '@sinclair/typebox';
import { madeOnce } from '../base/cache.ts';
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
const NOWHERE: ParameterPlace = { place: 'querystring', path: [] };

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
  const readers = madeOnce(() => readerOf(schema));
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
