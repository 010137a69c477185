/** The JSON text of answers. */
import type { Static, TSchema, TUnsafe } from '@sinclair/typebox';
import type { Pause } from '../base/turns.ts';
import { TooMuchWorkError } from '../store/rows/statement.ts';

/** A reviver that keeps the digits of numbers that a double can't hold. */
const exactly = (_: string, value: unknown, { source }: { source?: string } = {}): unknown =>
  typeof value === 'number' && source !== undefined && String(value) !== source ? JSON.rawJSON(source) : value;

/** A value as JSON text, inside a value that is not. {@link jsonOf} writes it; whoever else makes JSON of it gets the value. */
class JsonText {
  constructor(readonly text: string) {}
  toJSON(): unknown {
    return JSON.parse(this.text, exactly);
  }
}

declare const ofValue: unique symbol;

/**
 * A `T` that is JSON text already, or serialized only when it is written. Its type has no member, so that nobody reads a
 * member of `T` from it.
 */
export interface Written<T> {
  readonly [ofValue]: T;
}

/** What is written, where it may be written already. */
type Plain<T> = T extends Written<infer R> ? R : T;

/** Writes a value, to keep it as text. */
export const written = <T>(value: T): Written<T> => new JsonText(JSON.stringify(value)) as unknown as Written<T>;

/** The schema of a part of an answer that serializers may give as text. In the document it is the part's own schema. */
export const MaybeWritten = <T extends TSchema>(schema: T) =>
  schema as unknown as TUnsafe<Static<T> | Written<Static<T>>>;

/** A value that is serialized when it is written. */
class LazyValue {
  constructor(readonly serialized: () => unknown) {}
  toJSON(): unknown {
    const value = this.serialized();
    return value instanceof JsonText ? value.toJSON() : value;
  }
}

/**
 * The items of a list, each of which is serialized when it is written. Some take milliseconds, and many are more than a
 * thread may do at once: {@link jsonParts} lets others have their turn between them.
 */
export const serializedLazily = <T, R>(items: readonly T[], serialize: (of: T) => R): Written<Plain<R>>[] =>
  items.map((item) => new LazyValue(() => serialize(item)) as unknown as Written<Plain<R>>);

/** The JSON text of an answer. */
export const jsonOf = (body: unknown): string => [...pieces(body)].join('');

/** Characters that are sent at once. */
const PART = 250_000;
/** Characters of an answer. A longer one takes too long, and too much memory. */
const MOST_CHARACTERS = 64_000_000;

/**
 * The JSON text of an answer, which others needn't wait for, in parts that are sent one after the other; most answers have
 * one.
 * @throws TooMuchWorkError where it has more than {@link MOST_CHARACTERS}
 */
export async function jsonParts(body: unknown, pause: Pause): Promise<string[]> {
  const parts: string[] = [];
  let part: string[] = [];
  let [ofPart, left] = [0, MOST_CHARACTERS];
  for (const piece of pieces(body)) {
    part.push(piece);
    ofPart += piece.length;
    left -= piece.length;
    if (left < 0) {
      throw new TooMuchWorkError(
        `The answer would be larger than ${MOST_CHARACTERS / 1_000_000} MB; give a lower limit, or request fewer items at a time`,
      );
    }
    if (ofPart >= PART) {
      parts.push(part.join(''));
      [part, ofPart] = [[], 0];
    }
    const turn = pause();
    if (turn !== undefined) await turn;
  }
  parts.push(part.join(''));
  return parts;
}

/** Whether somebody has written the value, or will when it is its turn. */
const isText = (value: unknown): boolean => value instanceof JsonText || value instanceof LazyValue;

/** Whether a value has such values in it. All items of a list are alike. */
function hasText(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return isText(value[0]) || hasText(value[0]);
  for (const name in value) {
    const member = (value as Record<string, unknown>)[name];
    if (isText(member) || hasText(member)) return true;
  }
  return false;
}

/** Items of a list that is written item by item even though each of them is small. */
const LONG_LIST = 1_000;

/**
 * Writes a value piece by piece. The engine writes texts of more than a few kilobytes several times slower, byte for byte,
 * than short ones: the items of an answer's list are therefore written one by one, whatever they are.
 */
function* pieces(value: unknown): Generator<string, void> {
  if (value instanceof LazyValue) yield* pieces(value.serialized());
  else if (value instanceof JsonText) yield value.text;
  else if (Array.isArray(value) && (value.length > LONG_LIST || hasText(value))) yield* itemPieces(value);
  else if (hasText(value) || isList(value)) yield* memberPieces(value as unknown as Record<string, unknown>);
  else yield JSON.stringify(value);
}

const isList = (body: unknown): body is { results: readonly unknown[] } =>
  typeof body === 'object' && body !== null && 'results' in body && Array.isArray(body.results);

function* itemPieces(items: readonly unknown[]): Generator<string, void> {
  let separator = '[';
  for (const item of items) {
    yield separator;
    yield* pieces(item);
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

function* memberPieces(value: Record<string, unknown>): Generator<string, void> {
  let separator = '{';
  for (const name in value) {
    const member = value[name];
    if (member === undefined) continue;
    yield `${separator}${JSON.stringify(name)}:`;
    if (name === 'results' && Array.isArray(member)) yield* itemPieces(member);
    else yield* pieces(member);
    separator = ',';
  }
  yield separator === '{' ? '{}' : '}';
}
