import { DecodeError } from './bytes-reader.ts';

/** Returns `0x` and two lower-case digits per byte; `0x` for no bytes. */
export function toHex(bytes: Uint8Array): string {
  return `0x${bytes.toHex()}`;
}

/**
 * Decodes a hex text, with or without `0x`, in either case. `''` and `0x` give no bytes.
 *
 * @throws DecodeError if the number of digits is odd, or a character isn't a hex digit; the offset counts characters.
 */
export function fromHex(text: string): Uint8Array {
  const digits = text.startsWith('0x') ? text.slice(2) : text;
  if (digits.length % 2 !== 0) {
    throw new DecodeError('an even count of hex digits', `${digits.length} digits`, text.length);
  }
  try {
    return Uint8Array.fromHex(digits);
  } catch {
    const offset = text.length - digits.length + digits.search(/[^0-9a-fA-F]/);
    throw new DecodeError('a hex digit', JSON.stringify(text[offset]), offset);
  }
}
