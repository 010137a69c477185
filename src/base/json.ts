/**
 * Parsing of untrusted JSON texts, and exact numbers. A text that is nested too deep is rejected before it is parsed:
 * 100 KB of brackets take as long to parse as a hundred responses.
 */

/** Maximum nesting of a client's text. No documented body has more than six levels. */
export const MAX_DEPTH = 16;
/**
 * Maximum nesting of texts of nodes and other servers. Clarity values and types have at most 32 levels, and nodes write
 * each as a few levels of JSON.
 */
export const MAX_FOREIGN_DEPTH = 512;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const OPEN_OBJECT = 0x7b;
const CLOSE_LIST = 0x5d;
const CLOSE_OBJECT = 0x7d;

/** Returns the end index of the string that begins at a quote; the text's length if it isn't terminated. */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

/** Reports whether a JSON text is nested too deep. Long strings are skipped cheaply. */
export function isTooDeep(text: string, maxDepth = MAX_DEPTH): boolean {
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) index = endOfString(text, index);
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      depth++;
      if (depth > maxDepth) return true;
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--;
  }
  return false;
}

/** Parses a JSON text. Returns undefined if it is invalid or nested too deep. */
export function parsedJson(text: string): unknown {
  if (isTooDeep(text, MAX_FOREIGN_DEPTH)) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Reports whether a value of parsed JSON is an object and not an array. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A number that is written to JSON with all its digits, even if a double can't hold it. */
export interface RawNumber {
  readonly rawJSON: string;
}

declare global {
  interface JSON {
    /** Returns a value that `stringify` writes as this text. */
    rawJSON(text: string): RawNumber;
  }
}

/** Returns a number that is written to JSON with all its digits, even above 2^53. */
export function exactNumber(value: number | bigint): number | RawNumber {
  if (typeof value === 'number') return value;
  return value <= Number.MAX_SAFE_INTEGER ? Number(value) : JSON.rawJSON(String(value));
}

/** Serializes a value; a bigint becomes a JSON number with all its digits. */
export const exactJson = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? JSON.rawJSON(String(part)) : part));
