/** The JSON text of answers. */
import type { Static, TSchema, TUnsafe } from '@sinclair/typebox';
import type { Pause } from '../base/turns.ts';
import type { ItemsOf, ListedRow } from '../store/queries/row-texts.ts';
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

/** A `T` that is JSON text, or is serialized when the answer is written. The type is empty, so that no code reads its members. */
export interface Serialized<T> {
  readonly [ofValue]: T;
}

/** The type of the value, whether it is {@link Serialized} or not. */
export type Plain<T> = T extends Serialized<infer R> ? R : T;

/** JSON text that is sent as it is. */
export const jsonText = <T>(text: string): Serialized<T> => new JsonText(text) as unknown as Serialized<T>;

/** Schema of a part of an answer that may be {@link Serialized}. In the OpenAPI document it is the schema of the value. */
export const MaybeSerialized = <T extends TSchema>(schema: T) =>
  schema as unknown as TUnsafe<Static<T> | Serialized<Static<T>>>;

class LazyValue {
  constructor(readonly serialized: () => unknown) {}
  toJSON(): unknown {
    const value = this.serialized();
    return value instanceof JsonText ? value.toJSON() : value;
  }
}

/** Serializes each item of a list when it is written: some take milliseconds, and {@link jsonParts} can pause between items. */
export const serializedLazily = <T, R>(items: readonly T[], serialize: (item: T) => R): Serialized<Plain<R>>[] =>
  items.map((item) => new LazyValue(() => serialize(item)) as unknown as Serialized<Plain<R>>);

/**
 * Makes the function that serializes the rows of a page, as {@link serializedLazily}, with a cache of their texts.
 * @param shape names the serializer: rows have a text for each
 */
export const serializedRows =
  <T, R>(shape: string, serialize: (model: T) => R): ItemsOf<T, Serialized<Plain<R>>> =>
  (rows) =>
    rows.listed(shape).map((row) => serializedRow(row, serialize));

/** Serializes a row of a page, and caches its text unless it has one. */
export function serializedRow<T, R>(row: ListedRow<T>, serialize: (model: T) => R): Serialized<Plain<R>> {
  if (typeof row === 'string') return jsonText(row);
  const { model, cache } = row;
  const serializeOnce = (): JsonText => {
    const text = jsonOf(serialize(model));
    cache(text);
    return new JsonText(text);
  };
  return new LazyValue(serializeOnce) as unknown as Serialized<Plain<R>>;
}

/** The JSON text of an answer. */
export function jsonOf(body: unknown): string {
  const writer = new JsonWriter(body);
  while (writer.writeMore());
  return writer.take();
}

/** Characters of a part. */
const PART = 250_000;
/** Maximum number of characters of an answer: a longer one takes too much time and memory. */
const MAX_CHARACTERS = 64_000_000;

/**
 * The JSON text of an answer in parts, which are sent one after the other; most answers have one part.
 * @param pause lets other requests have their turn
 * @returns a promise if the text takes several turns
 * @throws TooMuchWorkError if the text has more than {@link MAX_CHARACTERS}
 */
export function jsonParts(body: unknown, pause: Pause): string[] | Promise<string[]> {
  const writer = new JsonWriter(body);
  const parts: string[] = [];
  let characters = 0;

  function takePart(): void {
    characters += writer.length;
    parts.push(writer.take());
  }

  function writeNext(): string[] | Promise<string[]> {
    while (writer.writeMore()) {
      if (characters + writer.length > MAX_CHARACTERS) {
        throw new TooMuchWorkError(
          `The answer would be larger than ${MAX_CHARACTERS / 1_000_000} MB; give a lower limit, or request fewer items at a time`,
        );
      }
      if (writer.length >= PART) takePart();
      const turn = pause();
      if (turn !== undefined) return turn.then(writeNext);
    }
    takePart();
    return parts;
  }

  return writeNext();
}

/** Whether a value is or contains {@link Serialized}. Only the first item of a list is checked, since items have one type. */
function hasText(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (value instanceof JsonText || value instanceof LazyValue) return true;
  if (Array.isArray(value)) return hasText(value[0]);
  for (const name in value) {
    if (hasText((value as Record<string, unknown>)[name])) return true;
  }
  return false;
}

/** Lists from this length on are written item by item, even if each item is small. */
const LONG_LIST = 1_000;

/** Serializes a lazy value; returns other values unchanged. */
const resolveLazy = (value: unknown): unknown => (value instanceof LazyValue ? resolveLazy(value.serialized()) : value);

const isList = (body: unknown): body is { results: readonly unknown[] } =>
  typeof body === 'object' && body !== null && 'results' in body && Array.isArray(body.results);

const isLong = (value: unknown): boolean => isList(value) || (Array.isArray(value) && value.length > LONG_LIST);

interface Container {
  value: Readonly<Record<string, unknown>> | readonly unknown[];
  /** Names of an object's members; null for an array. */
  names: readonly string[] | null;
  next: number;
  /** The character before the next member. */
  separator: '[' | '{' | ',';
}

const toContainer = (value: unknown): Container =>
  Array.isArray(value)
    ? { value, names: null, next: 0, separator: '[' }
    : { value: value as Record<string, unknown>, names: Object.keys(value as object), next: 0, separator: '{' };

/**
 * Serializes a value piece by piece. The JavaScript engine serializes texts of more than a few kilobytes several times
 * slower, byte for byte, than short ones; so the items of an answer's list are always serialized one by one. A stack
 * stores the position: resuming a generator for each piece would cost more than most pieces.
 */
class JsonWriter {
  /** Number of characters that were written and not taken. */
  length = 0;
  /** Texts that were written and not taken. Joining them once costs half of adding each to the previous ones. */
  #texts: string[] = [];
  /** The arrays and objects that are being written, outermost first. */
  readonly #containers: Container[] = [];

  constructor(body: unknown) {
    const value = resolveLazy(body);
    this.#write(value, isLong(value) || hasText(value));
  }

  /** Writes up to the end of the next item or serialized value. @returns whether more may be left */
  writeMore(): boolean {
    const container = this.#containers.at(-1);
    if (container === undefined) return false;
    if (container.names === null) this.#writeItems(container);
    else this.#writeMembers(container, container.names);
    return true;
  }

  take(): string {
    const text = this.#texts.join('');
    this.#texts = [];
    this.length = 0;
    return text;
  }

  #add(text: string): void {
    this.#texts.push(text);
    this.length += text.length;
  }

  #write(value: unknown, inParts: boolean): void {
    if (value instanceof JsonText) this.#add(value.text);
    else if (inParts) this.#containers.push(toContainer(value));
    else this.#add(JSON.stringify(value));
  }

  /** Writes items that are text, and then one that must be serialized. A pause after each text would take longer than the text. */
  #writeItems(container: Container): void {
    const items = container.value as readonly unknown[];
    while (container.next < items.length) {
      const item = items[container.next++];
      this.#add(container.separator);
      container.separator = ',';
      const value = resolveLazy(item);
      // A search of each item for Serialized values would take as long as serializing it. `toJSON` writes them, if slowly.
      this.#write(value, isLong(value));
      if (!(item instanceof JsonText) || this.length >= PART) return;
    }
    this.#end(container, '[', ']');
  }

  /** Writes members up to the first one that must be written in parts. The members before it become one text, which is fastest. */
  #writeMembers(container: Container, names: readonly string[]): void {
    const object = container.value as Readonly<Record<string, unknown>>;
    const plain: Record<string, unknown> = Object.create(null);
    while (container.next < names.length) {
      const name = names[container.next++]!;
      const member = resolveLazy(object[name]);
      if (!hasText(member) && !isLong(member) && !(name === 'results' && Array.isArray(member))) {
        plain[name] = member;
        continue;
      }
      this.#writePlain(container, plain);
      this.#add(`${container.separator}${JSON.stringify(name)}:`);
      container.separator = ',';
      this.#write(member, true);
      return;
    }
    this.#writePlain(container, plain);
    this.#end(container, '{', '}');
  }

  #writePlain(container: Container, members: Readonly<Record<string, unknown>>): void {
    const text = JSON.stringify(members);
    if (text === '{}') return;
    this.#add(container.separator);
    this.#add(text.slice(1, -1));
    container.separator = ',';
  }

  #end({ separator }: Container, opening: '[' | '{', closing: ']' | '}'): void {
    this.#add(separator === ',' ? closing : opening + closing);
    this.#containers.pop();
  }
}
