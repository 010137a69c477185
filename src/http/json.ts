/** The JSON text of answers. */
import type { Static, TSchema, TUnsafe } from '@sinclair/typebox';

/** A reviver that keeps the digits of numbers that a double can't hold. */
const exactly = (_: string, value: unknown, { source }: { source?: string } = {}): unknown =>
  typeof value === 'number' && source !== undefined && String(value) !== source ? JSON.rawJSON(source) : value;

/**
 * A value as JSON text, inside a value that is not. {@link jsonOf} writes it where it is an item of a list, or a member
 * of one; whoever else makes JSON of it gets the value.
 */
class JsonText {
  constructor(readonly text: string) {}
  toJSON(): unknown {
    return JSON.parse(this.text, exactly);
  }
}

declare const ofValue: unique symbol;

/** A `T` that is JSON text already. Its type has no member, so that nobody reads a member of `T` from the text. */
export interface Written<T> {
  readonly [ofValue]: T;
}

/** Writes a value, to keep it as text. */
export const written = <T>(value: T): Written<T> => new JsonText(JSON.stringify(value)) as unknown as Written<T>;

/**
 * Serializes each value once, and keeps the text for as long as the value is kept.
 * @param serialize must make the same of a value every time
 */
export function writtenOnce<T extends object, R>(serialize: (of: T) => R): (of: T) => Written<R> {
  const texts = new WeakMap<T, Written<R>>();
  return (of) => {
    let known = texts.get(of);
    if (known === undefined) {
      known = written(serialize(of));
      texts.set(of, known);
    }
    return known;
  };
}

/** The schema of a part of an answer that serializers may give as text. In the document it is the part's own schema. */
export const MaybeWritten = <T extends TSchema>(schema: T) =>
  schema as unknown as TUnsafe<Static<T> | Written<Static<T>>>;

/**
 * The JSON text of an answer.
 *
 * The engine writes texts of more than a few kilobytes several times slower, byte for byte, than short ones: the items
 * of a list are therefore written one by one. They come last, wherever they stood.
 */
export function jsonOf(body: unknown): string {
  if (!isList(body)) return textOf(body);
  const envelope = JSON.stringify({ ...body, results: undefined });
  const items = body.results.map(textOf).join(',');
  return `${envelope.slice(0, -1)}${envelope === '{}' ? '' : ','}"results":[${items}]}`;
}

const isList = (body: unknown): body is { results: readonly unknown[] } =>
  typeof body === 'object' && body !== null && 'results' in body && Array.isArray(body.results);

function textOf(value: unknown): string {
  if (value instanceof JsonText) return value.text;
  return hasText(value) ? membersText(value) : JSON.stringify(value);
}

function hasText(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  for (const name in value) if ((value as Record<string, unknown>)[name] instanceof JsonText) return true;
  return false;
}

/** Writes the members of an object one by one, of which some are written already. */
function membersText(value: Record<string, unknown>): string {
  let text = '';
  for (const name in value) {
    const member = value[name];
    if (member === undefined) continue;
    const memberText = member instanceof JsonText ? member.text : JSON.stringify(member);
    text += `${text === '' ? '{' : ','}${JSON.stringify(name)}:${memberText}`;
  }
  return `${text}}`;
}
