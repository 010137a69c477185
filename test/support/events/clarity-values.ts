/** Clarity values from their bytes. */
import { type ClarityValue, decodeClarity } from '../../../src/codec/clarity.ts';

/** Decodes a value. @throws DecodeError if the bytes are no value */
export function decodedValue(bytes: Uint8Array): ClarityValue {
  const decoded = decodeClarity(bytes);
  if (!decoded.ok) throw decoded.error;
  return decoded.value;
}
