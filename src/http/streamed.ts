/** Responses that are sent while they are made, since they may be larger than memory and take longer than a snapshot may last. */
import type { Turns } from '../base/turns.ts';
import type { Snapshots } from '../store/read/snapshots.ts';

/** A body in parts. Each part is read from a separate snapshot. */
export class Streamed {
  /**
   * @param parts makes the parts in order; a part is empty if much was read without a result
   * @param broken makes the last part of a body that fails, from the body of the error's response
   */
  constructor(
    readonly type: string,
    /** File name for browsers, which then save the response; null if they should show it. */
    readonly fileName: string | null,
    readonly parts: (read: Snapshots['read']) => AsyncGenerator<string, void>,
    readonly broken: (problem: object) => string,
  ) {}
}

interface Streaming {
  read: Snapshots['read'];
  /** Yields to everything else that is ready. */
  turn: () => Promise<void>;
  /** Logs an error and makes its response. */
  failure: (error: unknown) => Response;
}

/**
 * Makes the response. A part is made only after the client has read the parts before it, and after everything else that is
 * ready. The status is sent before the first part, so a body that fails ends with a part that reports the failure.
 */
export function streamedResponse({ type, fileName, parts, broken }: Streamed, streaming: Streaming): Response {
  const { read, turn, failure } = streaming;
  const source = parts(read);
  const encoder = new TextEncoder();
  /** Whether the client left, also while a part was made. */
  let isCancelled = false;

  /** The next non-empty part; null at the end. */
  async function nextPart(): Promise<string | null> {
    for (;;) {
      await turn();
      const { done, value } = await source.next();
      if (done === true) return null;
      if (value !== '') return value;
    }
  }

  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const part = await nextPart();
          if (isCancelled) return;
          if (part === null) controller.close();
          else controller.enqueue(encoder.encode(part));
        } catch (error) {
          if (isCancelled) return;
          controller.enqueue(encoder.encode(broken((await failure(error).json()) as object)));
          controller.close();
        }
      },
      async cancel() {
        isCancelled = true;
        await source.return();
      },
    },
    { highWaterMark: 0 },
  );
  const saved = fileName === null ? {} : { 'content-disposition': `attachment; filename="${fileName}"` };
  return new Response(body, { headers: { 'content-type': type, ...saved } });
}

/** Streams a finished body that is too long to be sent at once. A part is sent after the client has read those before it. */
export function inParts(parts: readonly string[], turns: Turns): ReadableStream<Uint8Array> {
  const rest = parts.values();
  const encoder = new TextEncoder();
  return new ReadableStream(
    {
      async pull(controller) {
        await turns.yieldLongWork();
        const { done, value } = rest.next();
        if (done === true) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
    },
    { highWaterMark: 0 },
  );
}
