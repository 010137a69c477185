import { lazy } from '../base/cache.ts';

/** Keeps a leading byte-order mark: it is content, and the value must not change. */
const lossy = new TextDecoder('utf-8', { ignoreBOM: true });
const strict = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });
const encoder = new TextEncoder();

/** Decodes UTF-8. Each maximal invalid part becomes one U+FFFD (the WHATWG rule). */
export function lossyText(bytes: Uint8Array): string {
  return lossy.decode(bytes);
}

/** Decodes UTF-8, or returns null if the bytes aren't valid UTF-8. */
export function strictText(bytes: Uint8Array): string | null {
  try {
    return strict.decode(bytes);
  } catch {
    return null;
  }
}

/** Encodes a text as UTF-8. A lone surrogate becomes U+FFFD. */
export function utf8Bytes(text: string): Uint8Array {
  return encoder.encode(text);
}

/**
 * Returns a text with one character U+0000 to U+00FF per byte.
 *
 * Uses a loop, which for names of a dozen bytes is several times faster than a call into a native decoder.
 */
export function latin1Text(bytes: Uint8Array, start: number, end: number): string {
  let text = '';
  for (let i = start; i < end; i++) text += String.fromCharCode(bytes[i]!);
  return text;
}

/** Compares two texts by their UTF-8 bytes, for sorting. */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    // UTF-16 puts surrogates (D800 to DFFF) below E000 to FFFF; UTF-8 puts the characters of surrogates above.
    if (x !== y) return byteRank(x) - byteRank(y);
  }
  return a.length - b.length;
}

function byteRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** Made at its first use, because few processes need it: its tables take 4 ms to load. */
const graphemes = lazy(() => new Intl.Segmenter(undefined, { granularity: 'grapheme' }));

/** Unprintable code points: control, format, surrogate, private use, unassigned, and every separator but the space. */
const UNPRINTABLE = /^(?! )[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Zs}]$/u;

/**
 * Returns a memo as readable text. Unprintable characters and invalid UTF-8 become blanks, runs of blanks become one,
 * and the ends are trimmed, for example the zeros that pad a memo to 34 bytes.
 *
 * Graphemes aren't split, so the joiners inside an emoji stay.
 */
export function memoText(bytes: Uint8Array): string {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  // Most memos are empty or one word, which needs no regular expression.
  if (areWithin(bytes, end, 0x21, 0x7e)) return latin1Text(bytes, 0, end);
  if (areWithin(bytes, bytes.length, 0, 0x7f)) return asciiText(bytes, end);
  let text = '';
  for (const { segment } of graphemes().segment(lossyText(bytes))) text += UNPRINTABLE.test(segment) ? ' ' : segment;
  return text.replace(/[\uFFFD\p{White_Space}]+/gu, ' ').replace(/^ | $/g, '');
}

function areWithin(bytes: Uint8Array, end: number, min: number, max: number): boolean {
  // Reads by index, because a typed array's iterator takes ten times as long.
  for (let i = 0; i < end; i++) if (bytes[i]! < min || bytes[i]! > max) return false;
  return true;
}

/** Handles ASCII text. Its only grapheme of several code points is CR LF, which is white space either way. */
function asciiText(bytes: Uint8Array, end: number): string {
  return latin1Text(bytes, 0, end)
    .replace(/[^!-~]+/g, ' ')
    .replace(/^ | $/g, '');
}

/** Percent-decodes a part of a URL. Returns null if the encoding is malformed, or isn't UTF-8. */
export function percentDecoded(text: string): string | null {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    return null;
  }
}
