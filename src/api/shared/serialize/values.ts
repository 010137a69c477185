import { clarityRepr } from '../../../codec/clarity-text.ts';
import { toHex } from '../../../codec/hex.ts';
import { memoText } from '../../../codec/utf8.ts';

export { exactNumber } from '../../../base/json.ts';

/** A Clarity value in hex and as text. @param value the serialized bytes */
export const clarity = (value: Uint8Array) => ({ hex: toHex(value), repr: clarityRepr(value) });

/** A memo in hex and as text without its padding; null where there is none. */
export const memo = (bytes: Uint8Array | null) =>
  bytes === null ? null : { hex: toHex(bytes), repr: memoText(bytes) };

/** @param time Unix seconds */
export const isoTime = (time: number): string => new Date(time * 1000).toISOString();

/** Empty for a time that is unknown. @param time Unix seconds, 0 or less where it is unknown */
export const timeText = (time: number): string => (time > 0 ? isoTime(time) : '');
