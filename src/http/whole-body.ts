/** The body of an answer that is whole when the answer is made, in the form that the runtime sends in one write. */

/** Bodies of so many bytes and more are written apart from their head, unless they are streams; see {@link wholeBody}. */
const WRITTEN_APART = 15_360;
/** The most bytes of UTF-8 that a unit of a string becomes. */
const BYTES_OF_A_UNIT = 3;

/**
 * Makes the body of an answer of its text. The answer leaves in one write, with `Content-Length`, whenever it is given.
 *
 * Bun puts head and body together where the answer is given in the turn of the event loop in which the request was read.
 * Where the answer is given later, since the request waited for its turn, and the body has {@link WRITTEN_APART} bytes or
 * more, Bun writes each name and value of the head by itself: thirty system calls, which take several times as long as
 * everything else. A `direct` stream that ends before its buffer is full is put together with its head in any case.
 */
export function wholeBody(text: string): string | ReadableStream {
  if (text.length * BYTES_OF_A_UNIT < WRITTEN_APART) return text;
  const bytes = Buffer.byteLength(text);
  if (bytes < WRITTEN_APART) return text;
  return new ReadableStream(
    {
      type: 'direct',
      pull(controller) {
        controller.write(text);
        controller.end();
      },
    },
    { highWaterMark: bytes + 1 },
  );
}
