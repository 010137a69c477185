/** The JSON text of answers. */
import type { Static, TSchema, TUnsafe } from '@sinclair/typebox';
import type { Awaitable } from '../base/awaitable.ts';
import type { Pause } from '../base/turns.ts';
import { TooMuchWorkError } from '../store/rows/statement.ts';

/** A reviver that preserves the digits of numbers that a double can't hold. */
const exactly = (_: string, value: unknown, { source }: { source?: string } = {}): unknown =>
  typeof value === 'number' && source !== undefined && String(value) !== source ? JSON.rawJSON(source) : value;

/** JSON text inside a value. {@link jsonOf} writes it as it is; `JSON.stringify` parses it again. */
class JsonText {
  constructor(readonly text: string) {}
  toJSON(): unknown {
    return JSON.parse(this.text, exactly);
  }
}

declare const ofValue: unique symbol;

/**
 * A `T` that is JSON text already, or that is serialized when the answer is written. The type has no members, so that no
 * code can read a member of `T` from it.
 */
export interface Written<T> {
  readonly [ofValue]: T;
}

/** The type of the value, whether it is {@link Written} or not. */
type Plain<T> = T extends Written<infer R> ? R : T;

/** Serializes a value now, so that it can be cached as text. */
export const written = <T>(value: T): Written<T> => new JsonText(jsonOf(value)) as unknown as Written<T>;

/** JSON text that is sent as it is. */
export const jsonText = <T>(text: string): Written<T> => new JsonText(text) as unknown as Written<T>;

/** Schema of a part of an answer that may be {@link Written}. In the OpenAPI document it is the schema of the value. */
export const MaybeWritten = <T extends TSchema>(schema: T) =>
  schema as unknown as TUnsafe<Static<T> | Written<Static<T>>>;

/** A value that is serialized when the answer is written. */
class LazyValue {
  constructor(readonly serialized: () => unknown) {}
  toJSON(): unknown {
    const value = this.serialized();
    return value instanceof JsonText ? value.toJSON() : value;
  }
}

/**
 * The items of a list, each serialized when it is written. Some take milliseconds, so {@link jsonParts} can pause between
 * them for other requests.
 */
export const serializedLazily = <T, R>(items: readonly T[], serialize: (of: T) => R): Written<Plain<R>>[] =>
  items.map((item) => new LazyValue(() => serialize(item)) as unknown as Written<Plain<R>>);

/** The JSON text of an answer. */
export const jsonOf = (body: unknown): string => [...pieces(body)].join('');

/** Characters of a part. */
const PART = 250_000;
/** Maximum number of characters of an answer: a longer one takes too much time and memory. */
const MOST_CHARACTERS = 64_000_000;

/**
 * The JSON text of an answer in parts, which are sent one after the other; most answers have one part.
 * @param pause lets other requests have their turn
 * @throws TooMuchWorkError if the text has more than {@link MOST_CHARACTERS}
 */
export function jsonParts(body: unknown, pause: Pause): Awaitable<string[]> {
  const source = pieces(body);
  const parts: string[] = [];
  let part = '';
  let left = MOST_CHARACTERS;

  function add(piece: string): void {
    part += piece;
    left -= piece.length;
    if (left < 0) {
      throw new TooMuchWorkError(
        `The answer would be larger than ${MOST_CHARACTERS / 1_000_000} MB; give a lower limit, or request fewer items at a time`,
      );
    }
    if (part.length < PART) return;
    parts.push(part);
    part = '';
  }

  function goOn(): Awaitable<string[]> {
    for (let next = source.next(); next.done !== true; next = source.next()) {
      add(next.value);
      const turn = pause();
      if (turn !== undefined) return turn.then(goOn);
    }
    parts.push(part);
    return parts;
  }

  return goOn();
}

/** Whether the value is {@link Written}. */
const isText = (value: unknown): boolean => value instanceof JsonText || value instanceof LazyValue;

/** Whether a value contains such values. Of a list the first item counts, since items have one type. */
function hasText(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return isText(value[0]) || hasText(value[0]);
  for (const name in value) {
    const member = (value as Record<string, unknown>)[name];
    if (isText(member) || hasText(member)) return true;
  }
  return false;
}

/** Lists from this length on are written item by item, even if each item is small. */
const LONG_LIST = 1_000;

/**
 * Serializes a value piece by piece. The JavaScript engine serializes texts of more than a few kilobytes several times
 * slower, byte for byte, than short ones; so the items of an answer's list are always serialized one by one.
 */
function* pieces(given: unknown): Generator<string, void> {
  const value = serialized(given);
  if (!isWhole(value)) yield* partPieces(value);
  else yield wholeText(value);
}

/** A value's form for JSON, whether it is serialized now or was before. */
const serialized = (value: unknown): unknown => (value instanceof LazyValue ? serialized(value.serialized()) : value);

/** Whether a serialized value is one piece. */
const isWhole = (value: unknown): boolean =>
  value instanceof JsonText || !(hasText(value) || isList(value) || (Array.isArray(value) && value.length > LONG_LIST));

const wholeText = (value: unknown): string => (value instanceof JsonText ? value.text : JSON.stringify(value));

const partPieces = (value: unknown): Generator<string, void> =>
  Array.isArray(value) ? itemPieces(value) : memberPieces(value as Record<string, unknown>);

const isList = (body: unknown): body is { results: readonly unknown[] } =>
  typeof body === 'object' && body !== null && 'results' in body && Array.isArray(body.results);

function* itemPieces(items: readonly unknown[]): Generator<string, void> {
  let separator = '[';
  for (const item of items) {
    const value = serialized(item);
    if (isWhole(value)) yield separator + wholeText(value);
    else {
      yield separator;
      yield* partPieces(value);
    }
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

function* memberPieces(value: Record<string, unknown>): Generator<string, void> {
  let separator = '{';
  /** What precedes the next piece: members that need none of their own. */
  let before = '';
  for (const name in value) {
    const member = serialized(value[name]);
    if (member === undefined) continue;
    before += `${separator}${JSON.stringify(name)}:`;
    separator = ',';
    const isResults = name === 'results' && Array.isArray(member);
    if (!isResults && isWhole(member)) {
      before += wholeText(member);
      if (before.length < PART) continue;
    }
    yield before;
    before = '';
    if (isResults) yield* itemPieces(member);
    else if (!isWhole(member)) yield* partPieces(member);
  }
  yield separator === '{' ? '{}' : `${before}}`;
}
