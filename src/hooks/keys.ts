/** API keys, each of a consumer, as the operator lists them in a file. What is kept of a key is its digest. */
import { timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { OperatorError } from '../base/errors.ts';

/** A key that manages the hooks of one consumer. */
export interface Key {
  /** SHA-256: whatever is compared has the same length. */
  digest: Uint8Array;
  consumer: string;
}

const digestOf = (text: string): Uint8Array => new Bun.CryptoHasher('sha256').update(text).digest();

/** A key by its text, which is kept as a digest alone. */
export const keyOf = (consumer: string, text: string): Key => ({ consumer, digest: digestOf(text) });

/** The key that a text is, in a time that doesn't depend on the keys; undefined where it is none of them. */
export function findKey<K extends Key>(keys: readonly K[], text: string): K | undefined {
  const digest = digestOf(text);
  let found: K | undefined;
  for (const key of keys) if (timingSafeEqual(key.digest, digest)) found = key;
  return found;
}

/**
 * The keys of a file: a line for each, consumer and key; the key may be given as `sha256:` and its digest in hex. Empty
 * lines and those that begin with # don't count.
 * @throws OperatorError naming the line
 */
export function readKeys(text: string, file: string): Key[] {
  const keys: Key[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    const [consumer, key, ...more] = trimmed.split(/\s+/);
    if (consumer === undefined || key === undefined || more.length > 0 || key.length < 8) {
      throw new OperatorError(
        `Line ${index + 1} of ${file} is not a consumer and a key.`,
        'Each line holds the name of a consumer, a blank, and a key of at least 8 characters.',
      );
    }
    const hashed = /^sha256:([0-9a-f]{64})$/i.exec(key)?.[1];
    keys.push(hashed === undefined ? keyOf(consumer, key) : { consumer, digest: Uint8Array.fromHex(hashed) });
  }
  if (keys.length === 0) throw new OperatorError(`${file} has no keys.`, 'Add a key, or omit --hook-keys.');
  return keys;
}

/** @throws OperatorError where the file can't be read */
export function keysOf(file: string): Key[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new OperatorError(`${file} can't be read.`, 'Check --hook-keys.', { cause });
  }
  return readKeys(text, file);
}
