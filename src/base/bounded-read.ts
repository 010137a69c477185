/** Reading of a body whose sender may not know a limit. */

/**
 * Reads a stream to its end, or up to a limit; the rest is not read.
 * @param most in bytes @param heard called with the number of bytes that came
 * @returns null if it is longer @throws what the stream throws
 */
export async function readUpTo(
  stream: ReadableStream<Uint8Array> | null,
  most: number,
  heard: (bytes: number) => void = () => {},
): Promise<Uint8Array<ArrayBuffer> | null> {
  const sink = new Bun.ArrayBufferSink();
  let length = 0;
  for await (const chunk of stream ?? []) {
    heard(chunk.length);
    length += chunk.length;
    if (length > most) return null;
    sink.write(chunk);
  }
  return new Uint8Array(sink.end() as ArrayBuffer);
}
