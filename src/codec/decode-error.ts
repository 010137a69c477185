/**
 * The one error of the codec: bytes (or text) that break the wire format.
 *
 * `offset` counts bytes from the start of the input the caller handed in, never from the start of a nested value,
 * so that the place can be found in the hex of the whole transaction.
 */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';

  /** @param found what stood there instead, as it should read in a sentence: `0x0f`, `3 bytes`, `the end`. */
  constructor(
    readonly expected: string,
    found: string,
    readonly offset: number,
    /** Whether the byte is none of the kinds that are known here, as of a node that knows more. */
    readonly isUnknownKind = false,
  ) {
    super(`expected ${expected}, found ${found} at offset ${offset}`);
  }
}

/** What a decoder answers: a whole value or a reason. There are no partial results. */
export type Decoded<T> = { ok: true; value: T } | { ok: false; error: DecodeError };

/**
 * Runs a decoder that throws and hands its `DecodeError` back as a value. Any other error is a defect and passes.
 *
 * Inside the codec errors are thrown, because a layout is read by a dozen nested calls; at its edge they are values,
 * because hostile bytes are an expected input and the caller must decide what becomes of them.
 */
export function decoded<T>(decode: () => T): Decoded<T> {
  try {
    return { ok: true, value: decode() };
  } catch (error) {
    if (error instanceof DecodeError) return { ok: false, error };
    throw error;
  }
}
