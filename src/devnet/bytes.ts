/** Big-endian integers and byte strings of SIP-005's wire formats. */
import { utf8Bytes } from '../codec/utf8.ts';

export function u8(value: number): Uint8Array {
  return Uint8Array.of(value);
}

export function u16(value: number): Uint8Array {
  return Uint8Array.of(value >>> 8, value);
}

export function u64(value: number | bigint): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value));
  return bytes;
}

/** Encodes a name: its length in one byte, then its bytes. */
export function shortText(text: string): Uint8Array {
  const bytes = utf8Bytes(text);
  return concat(u8(bytes.length), bytes);
}

export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}
