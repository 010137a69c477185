/**
 * How deep JSON texts of clients may be nested. A deep text is refused without being parsed: one of 100 KB that is nothing
 * but brackets takes as long to parse as a hundred answers.
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
