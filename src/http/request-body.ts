/** Bodies of requests: read as they come, and no further than their limit. */

/** A body that can't be had: it is longer than allowed, or its client left before its end. */
export class BodyError extends Error {
  override readonly name = 'BodyError';
  constructor(
    readonly reason: 'too_large' | 'incomplete',
    options?: ErrorOptions,
  ) {
    super(reason === 'too_large' ? 'the body is too large' : 'the body ended before its end', options);
  }
}

/**
 * The bytes of a request's body.
 * @param limit of its length in bytes
 * @throws BodyError
 */
export async function bodyBytes(request: Request, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw new BodyError('too_large');
  const sink = new Bun.ArrayBufferSink();
  let length = 0;
  for await (const chunk of chunksOf(request)) {
    length += chunk.length;
    if (length > limit) throw new BodyError('too_large');
    sink.write(chunk);
  }
  return new Uint8Array(sink.end() as ArrayBuffer);
}

/** The body as UTF-8; what isn't is replaced. @see bodyBytes */
export const bodyText = async (request: Request, limit: number): Promise<string> =>
  new TextDecoder().decode(await bodyBytes(request, limit));

async function* chunksOf(request: Request): AsyncGenerator<Uint8Array> {
  if (request.body === null) return;
  try {
    for await (const chunk of request.body) yield chunk;
  } catch (cause) {
    throw new BodyError('incomplete', { cause });
  }
}
