import { latin1Text, lossyText } from './utf8.ts';

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Unprintable code points: control, format, surrogate, private use, unassigned, and every separator but the space. */
const UNPRINTABLE = /^(?! )[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Zs}]$/u;

/**
 * A memo as readable text: what can't be printed and invalid UTF-8 become blanks, runs of blanks become one, and
 * none stay at the ends, such as the zeros that pad a memo to 34 bytes.
 *
 * A grapheme of several code points stays whole, so that the joiners inside an emoji are not taken for rubbish.
 */
export function memoText(bytes: Uint8Array): string {
  if (isAscii(bytes)) return asciiText(bytes);
  let text = '';
  for (const { segment } of graphemes.segment(lossyText(bytes))) text += UNPRINTABLE.test(segment) ? ' ' : segment;
  return text.replace(/[\uFFFD\p{White_Space}]+/gu, ' ').replace(/^ | $/g, '');
}

function isAscii(bytes: Uint8Array): boolean {
  // By index: going through a typed array by its iterator takes ten times as long.
  for (let at = 0; at < bytes.length; at++) if (bytes[at]! > 0x7f) return false;
  return true;
}

/** ASCII has no graphemes of several code points but CR LF, and that is white space either way. */
function asciiText(bytes: Uint8Array): string {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return latin1Text(bytes, 0, end)
    .replace(/[^!-~]+/g, ' ')
    .replace(/^ | $/g, '');
}
