/**
 * Splits long arrays in a JSON text to parse them element by element. Parsed values take several times the memory of
 * their text.
 */
import { endOfString } from '../base/json.ts';

/** The elements of an array, as texts. */
export class JsonElements {
  readonly #text: string;
  /** Indexes of the array's opening bracket, its commas and its closing bracket. */
  readonly #borders: Uint32Array;

  constructor(text: string, borders: Uint32Array) {
    this.#text = text;
    this.#borders = borders;
  }

  get length(): number {
    return this.#borders.length - 1;
  }

  /** Returns the text of an element. The first element has index 0. */
  at(index: number): string {
    return this.#text.slice((this.#borders[index] ?? 0) + 1, this.#borders[index + 1]);
  }
}

interface CutArray {
  elements: JsonElements;
  /** The text with an empty array in place of the array. */
  rest: string;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BRACKET = 0x5b;
const END_BRACKET = 0x5d;
const SPACE = 0x20;

const opens = (code: number): boolean => code === BRACKET || code === 0x7b;
const closes = (code: number): boolean => code === END_BRACKET || code === 0x7d;

class IndexList {
  #indexes = new Uint32Array(1024);
  #length = 0;

  add(index: number): void {
    if (this.#length === this.#indexes.length) {
      const longer = new Uint32Array(this.#length * 2);
      longer.set(this.#indexes);
      this.#indexes = longer;
    }
    this.#indexes[this.#length++] = index;
  }

  toArray(): Uint32Array {
    return this.#indexes.slice(0, this.#length);
  }
}

/**
 * Finds the borders of an array's elements.
 * @param start index of its opening bracket
 * @returns null if it is empty or isn't terminated
 */
function bordersFrom(text: string, start: number): Uint32Array | null {
  const borders = new IndexList();
  borders.add(start);
  let depth = 0;
  let isEmpty = true;
  for (let index = start + 1; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (depth === 0 && code === END_BRACKET) {
      borders.add(index);
      return isEmpty ? null : borders.toArray();
    }
    if (code > SPACE) isEmpty = false;
    if (code === QUOTE) index = endOfString(text, index);
    else if (code === COMMA && depth === 0) borders.add(index);
    else if (opens(code)) depth += 1;
    else if (closes(code)) depth -= 1;
  }
  return null;
}

/** Returns the index of an array that follows, after optional white space; null if something else follows. */
function arrayFrom(text: string, from: number): number | null {
  let index = from;
  while (text.charCodeAt(index) <= SPACE) index += 1;
  return text.charCodeAt(index) === BRACKET ? index : null;
}

/**
 * Finds the borders of the array under a key of the outermost object.
 * @returns null if it is ambiguous, such as for a key that occurs twice or is written with escapes
 */
function bordersOf(text: string, key: string): Uint32Array | null {
  let borders: Uint32Array | null = null;
  let depth = 0;
  let name = '';
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) {
      const end = endOfString(text, index);
      if (depth === 1) name = text.slice(index + 1, end);
      index = end;
    } else if (code === COLON && depth === 1) {
      if (name.includes('\\')) return null;
      if (name !== key) continue;
      const start = arrayFrom(text, index + 1);
      if (start === null || borders !== null) return null;
      borders = bordersFrom(text, start);
      if (borders === null) return null;
      index = borders.at(-1) ?? index;
    } else if (opens(code)) depth += 1;
    else if (closes(code)) depth -= 1;
  }
  return borders;
}

/**
 * Cuts an array out of a JSON text.
 * @param key of the array in the outermost object
 * @returns null if no array is found, or an empty one. Otherwise the text is valid JSON if and only if the rest and all
 * elements are
 */
export function elementsOf(text: string, key: string): CutArray | null {
  const borders = bordersOf(text, key);
  const [start] = borders ?? [];
  if (borders === null || start === undefined) return null;
  return { elements: new JsonElements(text, borders), rest: text.slice(0, start + 1) + text.slice(borders.at(-1)) };
}
