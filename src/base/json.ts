/**
 * JSON texts that others wrote, and numbers that JSON holds in full. A text that is nested too deep is refused without being
 * parsed: one of 100 KB that is nothing but brackets takes as long to parse as a hundred answers.
 */

/** The maximum number of levels of a client's text; no documented one has more than six. */
export const MAX_DEPTH = 16;
/**
 * The maximum number of levels of what nodes and other servers send. Clarity values and types, which nodes write as JSON,
 * have 32 levels at most, and each is a few levels of JSON.
 */
export const MAX_FOREIGN_DEPTH = 512;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const OPEN_OBJECT = 0x7b;
const CLOSE_LIST = 0x5d;
const CLOSE_OBJECT = 0x7d;

/** Where the string ends that begins at a quote; the end of the text where it doesn't end. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

/** Whether a JSON text has more levels than it may. Long strings cost next to nothing. */
export function isTooDeep(text: string, most = MAX_DEPTH): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      depth++;
      if (depth > most) return true;
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--;
  }
  return false;
}

/** The value of a JSON text; undefined for other texts, and for one that is nested too deep to be any that is known. */
export function parsedJson(text: string): unknown {
  if (isTooDeep(text, MAX_FOREIGN_DEPTH)) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** A number that JSON writes in full though a double can't hold it. */
export interface RawNumber {
  readonly rawJSON: string;
}

declare global {
  interface JSON {
    /** A value that `stringify` writes as this text. */
    rawJSON(text: string): RawNumber;
  }
}

/** A number as JSON should write it: all digits, though a double has only 53 bits. */
export function exactNumber(value: number | bigint): number | RawNumber {
  if (typeof value === 'number') return value;
  return value <= Number.MAX_SAFE_INTEGER ? Number(value) : JSON.rawJSON(String(value));
}

/** The JSON text of a value, in which a bigint is a number with all its digits. */
export const exactJson = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? JSON.rawJSON(String(part)) : part));
