/** JSON texts that others wrote. */
import { isTooDeep, MAX_FOREIGN_DEPTH } from './json-depth.ts';

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
