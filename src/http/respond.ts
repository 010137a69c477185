/** Every response of the API is made here, so that each has the same headers. */
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
function wholeBody(text: string): string | ReadableStream {
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

/** `stackside v0.1.0 (main:1a2b3c4)`: the text of `X-API-Version` and `server_version`. */
export const versionText = (version: string, branch: string, commit: string): string =>
  `stackside v${version} (${branch}:${commit})`;

/** What a stored copy of a tagged answer may be used for: only after asking whether it still holds. */
const REVALIDATE = 'public, no-cache, must-revalidate';
const JSON_TYPE = 'application/json; charset=utf-8';

export interface Responder {
  /** @param etag without quotes; null for an answer that must not be stored */
  json(status: number, body: unknown, etag?: string | null): Response;
  /** Answers with a body that is JSON text already, as {@link Responder.json} does. @param text whole, or while it is sent */
  jsonText(status: number, text: string | ReadableStream, etag?: string | null): Response;
  /** The text alone, as `text/plain`. */
  plainText(status: number, text: string | ReadableStream, etag?: string | null): Response;
  noContent(): Response;
  notModified(etag: string): Response;
  /** @param etag of what is found there */
  redirect(status: 301 | 302, location: string, etag?: string | null): Response;
  /** What another server answered, with the headers that it lacks. */
  passedOn(answered: Response): Response;
  /** The headers of JSON without a tag, for answers that are made elsewhere. */
  jsonHeaders(): Record<string, string>;
  /** The headers of every response, for those that are made elsewhere. */
  common(): Record<string, string>;
}

/** Makes the responder of a server. @param version goes into each response, as `X-API-Version` */
export function responder(version: string): Responder {
  const common = () => ({
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'X-API-Version, ETag, Link, Sunset, Warning, Retry-After, Stackside-Height',
    'x-api-version': version,
  });
  // Copying ready-made headers costs a third of making them of an object.
  const textOf = (type: string): Responder['jsonText'] => {
    const plain = new Headers({ ...common(), 'content-type': type, 'cache-control': 'no-store' });
    const tagged = new Headers({ ...common(), 'content-type': type, 'cache-control': REVALIDATE });
    return (status, text, etag = null) => {
      const body = typeof text === 'string' ? wholeBody(text) : text;
      if (etag === null) return new Response(body, { status, headers: plain });
      const response = new Response(body, { status, headers: tagged });
      response.headers.set('etag', `"${etag}"`);
      return response;
    };
  };
  const jsonText = textOf(JSON_TYPE);
  return {
    common,
    jsonHeaders: () => ({ ...common(), 'content-type': JSON_TYPE, 'cache-control': 'no-store' }),
    jsonText,
    plainText: textOf('text/plain'),
    json: (status, body, etag = null) => jsonText(status, JSON.stringify(body), etag),
    noContent: () => new Response(null, { status: 204, headers: { ...common(), 'cache-control': 'no-store' } }),
    passedOn(answered) {
      for (const [name, value] of Object.entries({ ...common(), 'cache-control': 'no-store' })) {
        if (!answered.headers.has(name)) answered.headers.set(name, value);
      }
      return answered;
    },
    notModified: (etag) => {
      const headers = { ...common(), 'cache-control': REVALIDATE, etag: `"${etag}"` };
      return new Response(null, { status: 304, headers });
    },
    redirect: (status, location, etag = null) => {
      const caching =
        etag === null ? { 'cache-control': 'no-store' } : { 'cache-control': REVALIDATE, etag: `"${etag}"` };
      return new Response(null, { status, headers: { ...common(), ...caching, 'content-length': '0', location } });
    },
  };
}
