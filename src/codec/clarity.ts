import { ADDRESS_LENGTH, addressAt } from './address.ts';
import { BytesReader, type Decoded, DecodeError, decoded, uint32At } from './bytes-reader.ts';
import { compareUtf8, latin1Text, lossyText } from './utf8.ts';

/** The bounds of Clarity's integers, which have 128 bits. */
export const MAX_UINT = 2n ** 128n - 1n;
export const MAX_INT = 2n ** 127n - 1n;
export const MIN_INT = -(2n ** 127n);

/** The newest Clarity version that a deployment can name. */
export const MAX_CLARITY_VERSION = 6;

/** First byte of a serialized Clarity value (SIP-005). */
export const PREFIX = {
  int: 0x00,
  uint: 0x01,
  buffer: 0x02,
  true: 0x03,
  false: 0x04,
  standardPrincipal: 0x05,
  contractPrincipal: 0x06,
  ok: 0x07,
  err: 0x08,
  none: 0x09,
  some: 0x0a,
  list: 0x0b,
  tuple: 0x0c,
  ascii: 0x0d,
  utf8: 0x0e,
} as const;

/** Maximum bytes of a buffer or string, and maximum count of list items or tuple entries (the node's limit). */
export const MAX_VALUE_SIZE = 1_048_576;

/**
 * Maximum nesting: the value is level 1, and each some, ok, err, list and tuple adds a level. The node allows 16 levels
 * in arguments and 32 in results. 64 leaves room for later limits and is safe for the call stack.
 */
const MAX_DEPTH = 64;

/** Bytes of both integer types: 128 bits, two's complement for `int`. */
export const INTEGER_LENGTH = 16;

/**
 * Skips one Clarity value with all checks of decoding, and builds nothing.
 *
 * Finds the end of a value. Values are stored as their exact spans, because serializing a decoded value again can give
 * other bytes (a tuple's order and repeated keys are lost).
 */
export function walkClarity(reader: BytesReader, depth = 1): void {
  const prefix = readPrefix(reader, depth);
  switch (prefix) {
    case PREFIX.int:
    case PREFIX.uint:
      reader.skip(INTEGER_LENGTH, 'a 128-bit integer');
      return;
    case PREFIX.true:
    case PREFIX.false:
    case PREFIX.none:
      return;
    case PREFIX.buffer:
    case PREFIX.ascii:
    case PREFIX.utf8:
      skipSized(reader);
      return;
    case PREFIX.standardPrincipal:
      skipAddress(reader, 'a principal');
      return;
    case PREFIX.contractPrincipal:
      skipAddress(reader, 'a principal');
      reader.skipName('a contract name');
      return;
    case PREFIX.ok:
    case PREFIX.err:
    case PREFIX.some:
      walkClarity(reader, depth + 1);
      return;
    case PREFIX.list:
      for (let left = readCount(reader, 'list items'); left > 0; left--) walkClarity(reader, depth + 1);
      return;
    case PREFIX.tuple:
      for (let left = readCount(reader, 'tuple entries'); left > 0; left--) {
        reader.skipName('a tuple key');
        walkClarity(reader, depth + 1);
      }
      return;
    default:
      throw unknownPrefix(reader, prefix);
  }
}

/** Reads the type prefix of a value at a nesting level. Rejects levels above 64. */
export function readPrefix(reader: BytesReader, depth: number): number {
  if (depth > MAX_DEPTH) throw new DecodeError(`at most ${MAX_DEPTH} levels of nesting`, 'one more', reader.offset);
  return reader.u8('a Clarity type prefix');
}

/** Returns the error for a prefix that was just read and stands for no type. */
export function unknownPrefix(reader: BytesReader, prefix: number): DecodeError {
  return reader.unknown('a Clarity type prefix (0x00 to 0x0e)', prefix);
}

/** Skips the u32 length and the bytes of a buffer or string; returns the offset of the bytes. */
export function skipSized(reader: BytesReader): number {
  const length = reader.u32('the length of a buffer or string');
  if (length > MAX_VALUE_SIZE) {
    throw new DecodeError(`a length of at most ${MAX_VALUE_SIZE}`, String(length), reader.offset - 4);
  }
  return reader.skip(length, 'the bytes of a buffer or string');
}

/** Reads the u32 count of a list or tuple. */
export function readCount(reader: BytesReader, items: string): number {
  const count = reader.count(items);
  if (count > MAX_VALUE_SIZE) {
    throw new DecodeError(`at most ${MAX_VALUE_SIZE} ${items}`, String(count), reader.offset - 4);
  }
  return count;
}

/** Skips the 21 bytes of an address and returns their offset. The version must be below 32. */
export function skipAddress(reader: BytesReader, expected: string): number {
  const offset = reader.skip(ADDRESS_LENGTH, expected);
  const version = reader.bytes[offset]!;
  if (version > 31) throw new DecodeError(`${expected} with a version of at most 31`, String(version), offset);
  return offset;
}

/** Reads an address on the wire, u8 version and hash160, and returns its text. */
export function readAddress(reader: BytesReader, expected: string): string {
  const offset = skipAddress(reader, expected);
  return addressAt(reader.bytes[offset]!, reader.bytes, offset + 1);
}

/** Reads a principal after its prefix byte and returns its text: `ADDRESS`, or `ADDRESS.name` for prefix 0x06. */
export function readPrincipal(reader: BytesReader, prefix: number): string {
  const address = readAddress(reader, 'a principal');
  return prefix === PREFIX.standardPrincipal ? address : `${address}.${reader.name('a contract name')}`;
}

/** Reads a whole Clarity value that must be a principal (SIP-005: recipients). */
export function readPrincipalValue(reader: BytesReader): string {
  const prefix = reader.u8('a recipient');
  if (prefix !== PREFIX.standardPrincipal && prefix !== PREFIX.contractPrincipal) {
    throw reader.unknown('a recipient (prefix 0x05 or 0x06)', prefix);
  }
  return readPrincipal(reader, prefix);
}

/**
 * A decoded Clarity value. `bytes` is its exact span on the wire, a view of the input.
 *
 * Principals are address text, contracts `ADDRESS.name`. `string-ascii` has one character per byte, even beyond ASCII.
 * Invalid UTF-8 becomes U+FFFD. Tuple keys are in ascending byte order; if a key is repeated, the last one counts.
 */
export type ClarityValue =
  | { type: 'int'; value: bigint; bytes: Uint8Array }
  | { type: 'uint'; value: bigint; bytes: Uint8Array }
  | { type: 'bool'; value: boolean; bytes: Uint8Array }
  | { type: 'buffer'; value: Uint8Array; bytes: Uint8Array }
  | { type: 'string-ascii'; value: string; bytes: Uint8Array }
  | { type: 'string-utf8'; value: string; bytes: Uint8Array }
  | { type: 'principal'; value: string; bytes: Uint8Array }
  | { type: 'none'; bytes: Uint8Array }
  | { type: 'some'; value: ClarityValue; bytes: Uint8Array }
  | { type: 'ok'; value: ClarityValue; bytes: Uint8Array }
  | { type: 'err'; value: ClarityValue; bytes: Uint8Array }
  | { type: 'list'; value: ClarityValue[]; bytes: Uint8Array }
  | { type: 'tuple'; value: Map<string, ClarityValue>; bytes: Uint8Array };

/** Decodes one serialized Clarity value (SIP-005). Bytes after it are ignored. */
export function decodeClarity(bytes: Uint8Array): Decoded<ClarityValue> {
  return decoded(() => readClarity(new BytesReader(bytes), 1));
}

/** Returns the first serialized value; null if the bytes don't begin with one. */
export function clarityValueOf(bytes: Uint8Array): ClarityValue | null {
  const value = decodeClarity(bytes);
  return value.ok ? value.value : null;
}

/**
 * Returns the spans of the arguments of a contract call: u32 count, then that many values. Checks that each span is one
 * whole value, and decodes nothing. Bytes after the last argument are ignored.
 */
export function decodeArguments(span: Uint8Array): Decoded<Uint8Array[]> {
  return decoded(() => {
    const reader = new BytesReader(span);
    const spans: Uint8Array[] = [];
    for (let left = reader.count('arguments'); left > 0; left--) {
      const start = reader.offset;
      walkClarity(reader);
      spans.push(reader.spanFrom(start));
    }
    return spans;
  });
}

function readClarity(reader: BytesReader, depth: number): ClarityValue {
  const start = reader.offset;
  const prefix = readPrefix(reader, depth);
  switch (prefix) {
    case PREFIX.int:
      return { type: 'int', value: readInteger(reader, true), bytes: reader.spanFrom(start) };
    case PREFIX.uint:
      return { type: 'uint', value: readInteger(reader, false), bytes: reader.spanFrom(start) };
    case PREFIX.true:
    case PREFIX.false:
      return { type: 'bool', value: prefix === PREFIX.true, bytes: reader.spanFrom(start) };
    case PREFIX.buffer: {
      const offset = skipSized(reader);
      return { type: 'buffer', value: reader.spanFrom(offset), bytes: reader.spanFrom(start) };
    }
    case PREFIX.ascii: {
      const offset = skipSized(reader);
      const value = latin1Text(reader.bytes, offset, reader.offset);
      return { type: 'string-ascii', value, bytes: reader.spanFrom(start) };
    }
    case PREFIX.utf8: {
      const offset = skipSized(reader);
      return { type: 'string-utf8', value: lossyText(reader.spanFrom(offset)), bytes: reader.spanFrom(start) };
    }
    case PREFIX.standardPrincipal:
    case PREFIX.contractPrincipal:
      return { type: 'principal', value: readPrincipal(reader, prefix), bytes: reader.spanFrom(start) };
    case PREFIX.none:
      return { type: 'none', bytes: reader.spanFrom(start) };
    case PREFIX.some:
      return { type: 'some', value: readClarity(reader, depth + 1), bytes: reader.spanFrom(start) };
    case PREFIX.ok:
      return { type: 'ok', value: readClarity(reader, depth + 1), bytes: reader.spanFrom(start) };
    case PREFIX.err:
      return { type: 'err', value: readClarity(reader, depth + 1), bytes: reader.spanFrom(start) };
    case PREFIX.list: {
      const value: ClarityValue[] = [];
      for (let left = readCount(reader, 'list items'); left > 0; left--) value.push(readClarity(reader, depth + 1));
      return { type: 'list', value, bytes: reader.spanFrom(start) };
    }
    case PREFIX.tuple: {
      const value = readEntries(reader, () => readClarity(reader, depth + 1));
      return { type: 'tuple', value, bytes: reader.spanFrom(start) };
    }
    default:
      throw unknownPrefix(reader, prefix);
  }
}

/**
 * Reads the entries of a tuple after its prefix, in ascending byte order of their keys. Returns a map, because a key
 * such as `__proto__` would vanish in a plain object.
 */
export function readEntries<T>(reader: BytesReader, readValue: () => T): Map<string, T> {
  const entries = new Map<string, T>();
  let ascending = true;
  let last: string | null = null;
  for (let left = readCount(reader, 'tuple entries'); left > 0; left--) {
    const key = reader.name('a tuple key');
    ascending &&= last === null || compareUtf8(last, key) < 0;
    entries.set(key, readValue());
    last = key;
  }
  // The node writes keys in order, but other programs may not.
  return ascending ? entries : new Map([...entries].sort(([a], [b]) => compareUtf8(a, b)));
}

/** Reads the 16 bytes of an `int` (two's complement) or `uint`. */
export function readInteger(reader: BytesReader, signed: boolean): bigint {
  const { bytes } = reader;
  const offset = reader.skip(INTEGER_LENGTH, 'a 128-bit integer');
  const high = (BigInt(uint32At(bytes, offset)) << 32n) | BigInt(uint32At(bytes, offset + 4));
  const low = (BigInt(uint32At(bytes, offset + 8)) << 32n) | BigInt(uint32At(bytes, offset + 12));
  const value = (high << 64n) | low;
  return signed ? BigInt.asIntN(128, value) : value;
}
