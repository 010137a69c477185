/**
 * Makes the responses of the API, all with the same headers. Some are sent while they are made, since they may be larger
 * than memory and take longer than a snapshot may last.
 */
import type { Turns } from '../base/turns.ts';
import type { Snapshots } from '../store/read/snapshots.ts';
import type { Coding } from './content-coding.ts';

/** Bun writes bodies of at least this many bytes separately from the head, unless they are streams; see {@link wholeBody}. */
const MIN_SEPARATE_BYTES = 15_360;
/** Maximum UTF-8 bytes of a UTF-16 code unit. */
const BYTES_OF_A_UNIT = 3;

/**
 * Makes a body from its content so that Bun sends the response in one write, with `Content-Length`.
 *
 * Bun joins head and body if the response is ready in the same turn of the event loop as the request. If it is
 * ready later, since the request waited for its turn, and the body has {@link MIN_SEPARATE_BYTES} bytes or more, Bun writes
 * each name and value of the head separately: thirty system calls, which take several times as long as everything else. A
 * `direct` stream that ends before its buffer is full is always joined with its head.
 */
function wholeBody(content: string | Uint8Array<ArrayBuffer>): string | Uint8Array<ArrayBuffer> | ReadableStream {
  if (content.length * BYTES_OF_A_UNIT < MIN_SEPARATE_BYTES) return content;
  const bytes = Buffer.byteLength(content);
  if (bytes < MIN_SEPARATE_BYTES) return content;
  return new ReadableStream(
    {
      type: 'direct',
      pull(controller) {
        controller.write(content);
        controller.end();
      },
    },
    { highWaterMark: bytes + 1 },
  );
}

/** `stackside v0.1.0 (main:1a2b3c4)`: the text of `X-API-Version` and `server_version`. */
export const versionText = (version: string, branch: string, commit: string): string =>
  `stackside v${version} (${branch}:${commit})`;

/** Cache-Control of tagged responses: HTTP caches must revalidate a stored copy before each use. */
const REVALIDATE = 'public, no-cache, must-revalidate';
/** Tells HTTP caches that a stored copy is only for requests with the same `Accept-Encoding`. */
const VARY = { vary: 'Accept-Encoding' };
const JSON_TYPE = 'application/json; charset=utf-8';

/** Makes the responder of a server. @param version the value of `X-API-Version` */
export function responder(version: string) {
  const common = () => ({
    'access-control-allow-origin': '*',
    'access-control-expose-headers':
      'X-API-Version, ETag, Link, Sunset, Warning, Retry-After, RateLimit, RateLimit-Policy, Stackside-Height, Stackside-History-From, Stackside-Without-Payouts',
    'x-api-version': version,
  });
  // Copying a Headers object costs a third of making one from a plain object.
  const textOf = (type: string) => {
    const plain = new Headers({ ...common(), 'content-type': type, 'cache-control': 'no-store' });
    const tagged = new Headers({ ...common(), ...VARY, 'content-type': type, 'cache-control': REVALIDATE });
    return (
      status: number,
      content: string | Uint8Array<ArrayBuffer> | ReadableStream,
      etag: string | null = null,
      coding: Coding | null = null,
    ): Response => {
      const body = content instanceof ReadableStream ? content : wholeBody(content);
      const response = new Response(body, { status, headers: etag === null ? plain : tagged });
      if (coding !== null) {
        response.headers.set('content-encoding', coding);
        response.headers.set('vary', VARY.vary);
      }
      // A strong ETag identifies the bytes of one coding.
      if (etag !== null) response.headers.set('etag', coding === null ? `"${etag}"` : `W/"${etag}"`);
      return response;
    };
  };
  const jsonText = textOf(JSON_TYPE);
  return {
    /** The headers of every response, for responses that other code makes. */
    common,
    /** The headers of JSON without a tag, for responses that other code makes. */
    jsonHeaders: () => ({ ...common(), 'content-type': JSON_TYPE, 'cache-control': 'no-store' }),
    /**
     * Makes a JSON response with a body that is already JSON text.
     * @param content whole, compressed or a stream
     * @param etag without quotes; null for a response that must not be stored
     * @param coding of compressed content
     */
    jsonText,
    /** Makes a `text/plain` response. The parameters are as for `jsonText`. */
    plainText: textOf('text/plain'),
    /** A JSON response that must not be stored. */
    json: (status: number, body: unknown): Response => jsonText(status, JSON.stringify(body)),
    noContent: (): Response =>
      new Response(null, { status: 204, headers: { ...common(), 'cache-control': 'no-store' } }),
    /** Adds the headers that another server's response lacks. */
    passedOn(response: Response): Response {
      for (const [name, value] of Object.entries({ ...common(), 'cache-control': 'no-store' })) {
        if (!response.headers.has(name)) response.headers.set(name, value);
      }
      return response;
    },
    /** @param isWeak whether the client named the weak ETag: a cache updates only the copy with the same ETag */
    notModified: (etag: string, isWeak: boolean): Response => {
      const headers = { ...common(), ...VARY, 'cache-control': REVALIDATE, etag: `${isWeak ? 'W/' : ''}"${etag}"` };
      return new Response(null, { status: 304, headers });
    },
    /** A redirect. @param etag of the response at the location */
    redirect: (status: 301 | 302, location: string, etag: string | null): Response => {
      const caching =
        etag === null ? { 'cache-control': 'no-store' } : { 'cache-control': REVALIDATE, etag: `"${etag}"` };
      return new Response(null, { status, headers: { ...common(), ...caching, 'content-length': '0', location } });
    },
  };
}
export type Responder = ReturnType<typeof responder>;

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

/** Adds headers to a response. */
export function withHeaders(response: Response, headers: Readonly<Record<string, string>> | null): Response {
  for (const [name, value] of Object.entries(headers ?? {})) response.headers.set(name, value);
  return response;
}
