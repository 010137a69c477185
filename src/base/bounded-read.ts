/** Bounded reading of a body, because the sender may not respect a limit. */

/**
 * Reads a stream to its end, or up to a limit.
 * @param maxBytes in bytes @param heard called with the number of bytes of each chunk
 * @returns null if the stream is longer @throws any error of the stream
 */
export async function readUpTo(
  stream: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  heard: (bytes: number) => void = () => {},
): Promise<Uint8Array<ArrayBuffer> | null> {
  const sink = new Bun.ArrayBufferSink();
  let length = 0;
  for await (const chunk of stream ?? []) {
    heard(chunk.length);
    length += chunk.length;
    if (length > maxBytes) return null;
    sink.write(chunk);
  }
  return new Uint8Array(sink.end() as ArrayBuffer);
}
