import { clarityRepr } from '../../../codec/clarity-repr.ts';
import { toHex } from '../../../codec/hex.ts';
import { memoText } from '../../../codec/memo.ts';
import type { RawNumber } from '../schemas/values.ts';

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

export const clarity = (value: Uint8Array) => ({ hex: toHex(value), repr: clarityRepr(value) });

export const memo = (bytes: Uint8Array | null) =>
  bytes === null ? null : { hex: toHex(bytes), repr: memoText(bytes) };
