/**
 * How deep JSON texts of clients may be nested. A deep text is refused without being parsed: one of 100 KB that is nothing
 * but brackets takes as long to parse as a hundred answers.
 */

/** The maximum number of levels; no documented text has more than six. */
export const MAX_DEPTH = 16;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = new Set([...'[{'].map((character) => character.charCodeAt(0)));
const CLOSE = new Set([...']}'].map((character) => character.charCodeAt(0)));

/** Whether a JSON text has more than {@link MAX_DEPTH} levels. */
export function isTooDeep(text: string): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) inString = true;
    else if (OPEN.has(code)) {
      depth++;
      if (depth > MAX_DEPTH) return true;
    } else if (CLOSE.has(code)) depth--;
  }
  return false;
}
