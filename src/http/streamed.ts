/** Answers that are sent while they are made, so that they may be longer than the memory and take longer than a snapshot lasts. */
import type { Turns } from '../base/turns.ts';
import type { Snapshots } from '../store/read/snapshots.ts';

/** A body in parts. Whoever makes one reads each part in a snapshot of its own. */
export class Streamed {
  /**
   * @param parts makes the parts in order; a part may be empty where much was read for nothing
   * @param broken the last part of a body that can't be finished, by what the error's own answer would say
   */
  constructor(
    readonly type: string,
    /** The name under which a browser saves it; null where it shows it. */
    readonly fileName: string | null,
    readonly parts: (read: Snapshots['read']) => AsyncGenerator<string, void>,
    readonly broken: (problem: object) => string,
  ) {}
}

interface Streaming {
  read: Snapshots['read'];
  /** Lets everything else that is ready run. */
  turn: () => Promise<void>;
  /** Logs an error and makes the answer that it would have been. */
  failure: (error: unknown) => Response;
}

/**
 * The answer. A part is made only once the client took those before it, and after everything else that was ready then. The
 * status is sent before the first part: a body that breaks off ends with a part that says so.
 */
export function streamedResponse({ type, fileName, parts, broken }: Streamed, streaming: Streaming): Response {
  const { read, turn, failure } = streaming;
  const source = parts(read);
  const encoder = new TextEncoder();

  /** The next part that isn't empty; null at the end. */
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
          if (part === null) controller.close();
          else controller.enqueue(encoder.encode(part));
        } catch (error) {
          controller.enqueue(encoder.encode(broken((await failure(error).json()) as object)));
          controller.close();
        }
      },
      async cancel() {
        await source.return();
      },
    },
    { highWaterMark: 0 },
  );
  const saved = fileName === null ? {} : { 'content-disposition': `attachment; filename="${fileName}"` };
  return new Response(body, { headers: { 'content-type': type, ...saved } });
}

/** A body that is made, and too long to be sent at once. A part is sent once the client took those before it. */
export function inParts(parts: readonly string[], turns: Turns): ReadableStream<Uint8Array> {
  const rest = parts.values();
  const encoder = new TextEncoder();
  return new ReadableStream(
    {
      async pull(controller) {
        await turns.behindOthers();
        const { done, value } = rest.next();
        if (done === true) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
    },
    { highWaterMark: 0 },
  );
}
