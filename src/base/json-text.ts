/** JSON texts that others wrote. */

/** The value of a JSON text; undefined for other texts. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
