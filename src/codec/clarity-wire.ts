import { ADDRESS_LENGTH, addressAt } from './address.ts';
import type { BytesReader } from './bytes-reader.ts';
import { DecodeError } from './decode-error.ts';

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

/** Largest buffer or string in bytes, and largest count of list items or tuple entries (the node's limit). */
export const MAX_VALUE_SIZE = 1_048_576;

/**
 * Deepest nesting: the value is level 1, and each some, ok, err, list and tuple adds one. The node allows 16 levels
 * in arguments and 32 in results; 64 leaves room for what it may allow later, and is no danger to the call stack.
 */
export const MAX_DEPTH = 64;

/** Bytes of the two integer types: 128 bits, two's complement for `int`. */
export const INTEGER_LENGTH = 16;

/**
 * Passes over one Clarity value with every check that decoding makes, and builds nothing.
 *
 * The way to find where a value ends; its exact span is what is stored, since writing a value again can give other
 * bytes (a tuple's order and repeated keys are lost).
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

/** The type prefix of a value at a nesting level, refused when the level is above 64. */
export function readPrefix(reader: BytesReader, depth: number): number {
  if (depth > MAX_DEPTH) throw new DecodeError(`at most ${MAX_DEPTH} levels of nesting`, 'one more', reader.offset);
  return reader.u8('a Clarity type prefix');
}

/** The error for a prefix, just read, that stands for no type. */
export function unknownPrefix(reader: BytesReader, prefix: number): DecodeError {
  return reader.unknown('a Clarity type prefix (0x00 to 0x0e)', prefix);
}

/** Passes over the u32 length and the bytes of a buffer or string; returns where the bytes begin. */
export function skipSized(reader: BytesReader): number {
  const length = reader.u32('the length of a buffer or string');
  if (length > MAX_VALUE_SIZE) {
    throw new DecodeError(`a length of at most ${MAX_VALUE_SIZE}`, String(length), reader.offset - 4);
  }
  return reader.skip(length, 'the bytes of a buffer or string');
}

/** The u32 count of a list or tuple. */
export function readCount(reader: BytesReader, items: string): number {
  const count = reader.count(items);
  if (count > MAX_VALUE_SIZE) {
    throw new DecodeError(`at most ${MAX_VALUE_SIZE} ${items}`, String(count), reader.offset - 4);
  }
  return count;
}

/** Passes over the 21 bytes of an address, whose version must be below 32; returns where they begin. */
export function skipAddress(reader: BytesReader, expected: string): number {
  const at = reader.skip(ADDRESS_LENGTH, expected);
  const version = reader.bytes[at]!;
  if (version > 31) throw new DecodeError(`${expected} with a version of at most 31`, String(version), at);
  return at;
}

/** The text of an address on the wire: u8 version and hash160. */
export function readAddress(reader: BytesReader, expected: string): string {
  const at = skipAddress(reader, expected);
  return addressAt(reader.bytes[at]!, reader.bytes, at + 1);
}

/** The text of a principal after its prefix byte: `ADDRESS`, or `ADDRESS.name` for prefix 0x06. */
export function readPrincipal(reader: BytesReader, prefix: number): string {
  const address = readAddress(reader, 'a principal');
  return prefix === PREFIX.standardPrincipal ? address : `${address}.${reader.name('a contract name')}`;
}

/** A whole Clarity value that must be a principal (SIP-005: recipients). */
export function readPrincipalValue(reader: BytesReader, expected: string): string {
  const prefix = reader.u8(expected);
  if (prefix !== PREFIX.standardPrincipal && prefix !== PREFIX.contractPrincipal) {
    throw reader.unknown(`${expected} (prefix 0x05 or 0x06)`, prefix);
  }
  return readPrincipal(reader, prefix);
}
