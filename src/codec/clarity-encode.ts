import { principalBytes } from './address.ts';
import { MAX_NAME_LENGTH } from './bytes-reader.ts';
import { MAX_INT, MAX_UINT, MAX_VALUE_SIZE, MIN_INT, PREFIX } from './clarity.ts';
import { compareUtf8, utf8Bytes } from './utf8.ts';

/**
 * Serialized Clarity values (SIP-005), for look-ups by value and for the arguments of calls made on Bitcoin. Nested
 * values are passed in serialized form.
 *
 * All functions throw a RangeError if a value has no wire form: an integer beyond 128 bits, a principal with a wrong
 * checksum, a buffer or string above 1,048,576 bytes, a tuple key above 128 bytes, a character beyond ASCII in `ascii`.
 *
 * @example clarity.tuple({ name: clarity.buffer(utf8Bytes('alice')), namespace: clarity.buffer(utf8Bytes('btc')) });
 */
export const clarity = {
  uint: (value: bigint | number): Uint8Array => integer(PREFIX.uint, BigInt(value), 0n, MAX_UINT),
  int: (value: bigint | number): Uint8Array => integer(PREFIX.int, BigInt(value), MIN_INT, MAX_INT),
  bool: (value: boolean): Uint8Array => Uint8Array.of(value ? PREFIX.true : PREFIX.false),
  buffer: (bytes: Uint8Array): Uint8Array => encodeSized(PREFIX.buffer, bytes),
  ascii(text: string): Uint8Array {
    const bytes = utf8Bytes(text);
    if (bytes.length !== text.length) throw new RangeError('string-ascii holds ASCII characters only');
    return encodeSized(PREFIX.ascii, bytes);
  },
  utf8: (text: string): Uint8Array => encodeSized(PREFIX.utf8, utf8Bytes(text)),
  principal(text: string): Uint8Array {
    const bytes = principalBytes(text);
    if (bytes === null) throw new RangeError(`not a Stacks principal: ${JSON.stringify(text)}`);
    return concat([Uint8Array.of(text.includes('.') ? PREFIX.contractPrincipal : PREFIX.standardPrincipal), bytes]);
  },
  none: (): Uint8Array => Uint8Array.of(PREFIX.none),
  some: (value: Uint8Array): Uint8Array => concat([Uint8Array.of(PREFIX.some), value]),
  ok: (value: Uint8Array): Uint8Array => concat([Uint8Array.of(PREFIX.ok), value]),
  err: (value: Uint8Array): Uint8Array => concat([Uint8Array.of(PREFIX.err), value]),
  list: (values: Uint8Array[]): Uint8Array => concat([Uint8Array.of(PREFIX.list), u32(values.length), ...values]),
  /** Writes the keys in ascending byte order, as the node does. For the node, another order is another value. */
  tuple(entries: Record<string, Uint8Array>): Uint8Array {
    const sorted = Object.entries(entries).sort(([a], [b]) => compareUtf8(a, b));
    const parts = sorted.flatMap(([key, value]) => [tupleKey(key), value]);
    return concat([Uint8Array.of(PREFIX.tuple), u32(sorted.length), ...parts]);
  },
} as const;

/** Encodes the arguments of a contract call as in a payload: u32 count, then the values. */
export function encodeArguments(args: Uint8Array[]): Uint8Array {
  return concat([u32(args.length), ...args]);
}

function integer(prefix: number, value: bigint, min: bigint, max: bigint): Uint8Array {
  if (value < min || value > max) throw new RangeError(`${value} is not between ${min} and ${max}`);
  const bytes = new Uint8Array(17);
  const view = new DataView(bytes.buffer);
  bytes[0] = prefix;
  view.setBigInt64(1, value >> 64n); // both setters keep the low 64 bits only
  view.setBigUint64(9, value);
  return bytes;
}

function encodeSized(prefix: number, content: Uint8Array): Uint8Array {
  if (content.length > MAX_VALUE_SIZE) throw new RangeError(`${content.length} bytes are above ${MAX_VALUE_SIZE}`);
  return concat([Uint8Array.of(prefix), u32(content.length), content]);
}

function tupleKey(key: string): Uint8Array {
  const name = utf8Bytes(key);
  if (name.length > MAX_NAME_LENGTH) throw new RangeError(`a tuple key of ${name.length} bytes`);
  return concat([Uint8Array.of(name.length), name]);
}

/** Returns the four bytes of a number, the highest first. */
export function u32(value: number): Uint8Array {
  return Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);
}

function concat(parts: Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}
