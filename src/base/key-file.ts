/** Files of API keys: one line per key, with the name of its holder. */
import { OperatorError } from './errors.ts';

const MIN_CHARACTERS = 8;

export interface KeyLine {
  line: number;
  name: string;
  /** SHA-256 of the key. */
  digest: Uint8Array;
  /** Words after the key. */
  rest: string[];
}

export const digestOfKey = (text: string): Uint8Array => new Bun.CryptoHasher('sha256').update(text).digest();

/** @returns null if there is no key, or a digest of another length: as a key, nobody would have it */
function digestIn(word: string | undefined): Uint8Array | null {
  if (word === undefined || word.length < MIN_CHARACTERS) return null;
  if (!/^sha256:/i.test(word)) return digestOfKey(word);
  const hashed = /^sha256:([0-9a-f]{64})$/i.exec(word)?.[1];
  return hashed === undefined ? null : Uint8Array.fromHex(hashed);
}

/**
 * Reads the text of a key file. A key may be written as `sha256:` and its digest in hex. Empty lines and lines that
 * begin with # are skipped.
 * @param format of a line, for the error's remedy
 * @param maxWords maximum words after the key
 * @throws OperatorError naming the line that is invalid or repeats a key
 */
export function keyLines(text: string, file: string, format: string, maxWords = 0): KeyLine[] {
  const keys: KeyLine[] = [];
  const lineOf = new Map<string, number>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    const [name = '', key, ...rest] = trimmed.split(/\s+/);
    const digest = digestIn(key);
    if (digest === null || rest.length > maxWords) throw wrongLine(index + 1, file, format);
    const first = lineOf.get(digest.toHex());
    if (first !== undefined) {
      throw new OperatorError(
        `Line ${index + 1} of ${file} has the same key as line ${first}.`,
        'Remove one of the two lines, or write another key.',
      );
    }
    lineOf.set(digest.toHex(), index + 1);
    keys.push({ line: index + 1, name, digest, rest });
  }
  return keys;
}

/** Returns the error for a line with another format. */
export const wrongLine = (line: number, file: string, format: string): OperatorError =>
  new OperatorError(
    `Line ${line} of ${file} is not ${format}.`,
    `Write ${format} in each line, with blanks between; a key has at least ${MIN_CHARACTERS} characters, and a digest after sha256: has 64 hex digits.`,
  );
