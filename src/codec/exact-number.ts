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
