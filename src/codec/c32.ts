const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Value of each ASCII character, -1 for those outside the alphabet. Lower case, O, L and I are read as 0, 1 and 1. */
const VALUES = (() => {
  const values = new Int8Array(128).fill(-1);
  for (let value = 0; value < 32; value++) {
    values[ALPHABET.charCodeAt(value)] = value;
    values[ALPHABET.toLowerCase().charCodeAt(value)] = value;
  }
  for (const [spelling, meant] of ['O0', 'o0', 'L1', 'l1', 'I1', 'i1']) {
    values[spelling!.charCodeAt(0)] = ALPHABET.indexOf(meant!);
  }
  return values;
})();

/** The character of a value 0 to 31. */
export function c32Character(value: number): string {
  return ALPHABET[value]!;
}

/** The value 0 to 31 of a character code, or -1. */
export function c32Value(code: number): number {
  return VALUES[code] ?? -1;
}

/**
 * Crockford's base 32 of bytes read as one big-endian number, without leading zeros, then one `0` put before it for
 * each leading zero *byte* (SIP-005; not for each zero group of five bits).
 */
export function c32Encode(bytes: Uint8Array): string {
  let text = '';
  let carry = 0;
  let carryBits = 0;
  for (let at = bytes.length - 1; at >= 0; at--) {
    carry |= bytes[at]! << carryBits;
    carryBits += 8;
    while (carryBits >= 5) {
      text = ALPHABET[carry & 31]! + text;
      carry >>= 5;
      carryBits -= 5;
    }
  }
  if (carryBits > 0) text = ALPHABET[carry]! + text;

  let zeroBytes = 0;
  while (bytes[zeroBytes] === 0) zeroBytes++;
  let zeroDigits = 0;
  while (text[zeroDigits] === '0') zeroDigits++;
  return '0'.repeat(zeroBytes) + text.slice(zeroDigits);
}

/** The bytes of a c32 text, or null when a character is outside the alphabet. The reverse of `c32Encode`. */
export function c32Decode(text: string): Uint8Array | null {
  let zeros = 0;
  while (c32Value(text.charCodeAt(zeros)) === 0) zeros++;
  const bytes: number[] = []; // least significant first
  let carry = 0;
  let carryBits = 0;
  for (let at = text.length - 1; at >= zeros; at--) {
    const value = c32Value(text.charCodeAt(at));
    if (value < 0) return null;
    carry |= value << carryBits;
    carryBits += 5;
    if (carryBits >= 8) {
      bytes.push(carry & 255);
      carry >>= 8;
      carryBits -= 8;
    }
  }
  if (carry > 0) bytes.push(carry);
  // The bits of the first digit can leave one byte more than the number needs.
  while (bytes.at(-1) === 0) bytes.pop();
  for (let zero = 0; zero < zeros; zero++) bytes.push(0);
  return Uint8Array.from(bytes.reverse());
}
