import { BytesReader } from './bytes-reader.ts';
import { decoded } from './decode-error.ts';

/**
 * The signer bit vector of a block event as a text of `0` and `1`, one per reward slot: u16 bit count, u32 byte
 * count, then the bits from the highest of the first byte on. Null when the counts and the bytes do not agree.
 */
export function signerBits(bytes: Uint8Array): string | null {
  const bits = decoded(() => {
    const reader = new BytesReader(bytes);
    const bitCount = reader.u16('the count of bits');
    const vector = reader.span(reader.u32('the count of bytes'), 'the bits');
    return { bitCount, vector, whole: reader.left === 0 };
  });
  if (!bits.ok || !bits.value.whole) return null;
  const { bitCount, vector } = bits.value;
  if (vector.length !== Math.ceil(bitCount / 8)) return null;
  let text = '';
  for (let bit = 0; bit < bitCount; bit++) text += (vector[bit >> 3]! >> (7 - (bit & 7))) & 1;
  return text;
}
