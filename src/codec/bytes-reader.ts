import { latin1Text, strictText } from './utf8.ts';

/**
 * Thrown if bytes (or text) break the wire format: the only error of the codec.
 *
 * `offset` counts bytes from the start of the caller's input, never from the start of a nested value, so you can find
 * the position in the hex of the whole transaction.
 */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';

  /** @param actual the value at the offset, as part of a sentence: `0x0f`, `3 bytes`, `the end` */
  constructor(
    readonly expected: string,
    actual: string,
    readonly offset: number,
    /** Whether the byte is an unknown kind, which a newer node may support. */
    readonly isUnknownKind = false,
  ) {
    super(`expected ${expected}, found ${actual} at offset ${offset}`);
  }
}

/** Result of a decoder: a whole value or an error, never a partial result. */
export type Decoded<T> = { ok: true; value: T } | { ok: false; error: DecodeError };

/**
 * Runs a decoder that throws, and returns its `DecodeError` as a value. Any other error is a defect, and is thrown.
 *
 * The codec throws errors internally, because a dozen nested calls read one layout. Its exported functions return them,
 * because hostile bytes are an expected input and the caller must decide how to handle them.
 */
export function decoded<T>(decode: () => T): Decoded<T> {
  try {
    return { ok: true, value: decode() };
  } catch (error) {
    if (error instanceof DecodeError) return { ok: false, error };
    throw error;
  }
}

/** Returns a decoded value. @throws DecodeError */
export function decodedOrThrow<T>(result: Decoded<T>): T {
  if (!result.ok) throw result.error;
  return result.value;
}

/** Maximum bytes of a name: contract, function, asset, tuple key (SIP-005, SIP-002). */
export const MAX_NAME_LENGTH = 128;

/**
 * A cursor over big-endian bytes that checks every bound before it reads.
 *
 * All reads throw a `DecodeError` at the offset at which the missing or wrong value should start. Spans are views of
 * the input, not copies: they keep the input alive and must not outlive a change to it. `expected` is the name of the
 * field in the error's message.
 */
export class BytesReader {
  offset = 0;

  constructor(readonly bytes: Uint8Array) {}

  /** Number of bytes left to read. */
  get left(): number {
    return this.bytes.length - this.offset;
  }

  u8(expected: string): number {
    const byte = this.bytes[this.offset];
    if (byte === undefined) throw this.truncated(1, expected);
    this.offset++;
    return byte;
  }

  u16(expected: string): number {
    const start = this.skip(2, expected);
    return (this.bytes[start]! << 8) | this.bytes[start + 1]!;
  }

  u32(expected: string): number {
    return uint32At(this.bytes, this.skip(4, expected));
  }

  u64(expected: string): bigint {
    const start = this.skip(8, expected);
    const high = uint32At(this.bytes, start);
    const low = uint32At(this.bytes, start + 4);
    // Almost every amount, fee and nonce is below 2^53, so one conversion is usually enough instead of two and a shift.
    return high < 0x200000 ? BigInt(high * 0x100000000 + low) : (BigInt(high) << 32n) | BigInt(low);
  }

  /** Skips `length` bytes and returns the offset of the first of them. */
  skip(length: number, expected: string): number {
    const start = this.offset;
    if (length > this.bytes.length - start) throw this.truncated(length, expected);
    this.offset = start + length;
    return start;
  }

  /** Returns the next `length` bytes, as a view. */
  span(length: number, expected: string): Uint8Array {
    const start = this.skip(length, expected);
    return this.bytes.subarray(start, start + length);
  }

  /** Returns the view from an earlier offset to the current one. */
  spanFrom(start: number): Uint8Array {
    return this.bytes.subarray(start, this.offset);
  }

  /**
   * Reads a u32 count of the items that follow. Each item has at least one byte, so a count above the remaining bytes
   * is rejected here, before a caller loops or allocates memory.
   */
  count(expected: string): number {
    const count = this.u32(`the count of ${expected}`);
    if (count > this.left) throw new DecodeError(`${count} ${expected}`, `${this.left} bytes`, this.offset);
    return count;
  }

  /** Reads a name: u8 length, then at most 128 bytes of UTF-8. The node checks the grammar. */
  name(expected: string): string {
    const start = this.skipName(expected);
    // skipName has already checked that a name with non-ASCII characters is valid UTF-8.
    if (!isAscii(this.bytes, start, this.offset)) return strictText(this.spanFrom(start))!;
    return latin1Text(this.bytes, start, this.offset);
  }

  /** Skips a name, with the checks of `name`, and returns the offset of its first character. */
  skipName(expected: string): number {
    const length = this.u8(`the length of ${expected}`);
    if (length > MAX_NAME_LENGTH) {
      throw new DecodeError(`${expected} of at most ${MAX_NAME_LENGTH} bytes`, `${length} bytes`, this.offset - 1);
    }
    const start = this.skip(length, expected);
    if (!isAscii(this.bytes, start, this.offset) && strictText(this.spanFrom(start)) === null) {
      throw new DecodeError(`${expected} in UTF-8`, 'other bytes', start);
    }
    return start;
  }

  /** Returns the error for a byte that was just read and isn't a value of its field. */
  unknown(expected: string, byte: number): DecodeError {
    return new DecodeError(expected, `0x${byte.toString(16).padStart(2, '0')}`, this.offset - 1, true);
  }

  private truncated(length: number, expected: string): DecodeError {
    const rest = this.left === 0 ? 'the end' : `${this.left} bytes`;
    return new DecodeError(`${expected} (${length} bytes)`, rest, this.offset);
  }
}

/** Returns the u32 at an offset that the caller has checked. */
export function uint32At(bytes: Uint8Array, offset: number): number {
  return ((bytes[offset]! << 24) | (bytes[offset + 1]! << 16) | (bytes[offset + 2]! << 8) | bytes[offset + 3]!) >>> 0;
}

function isAscii(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (bytes[i]! > 0x7f) return false;
  return true;
}
