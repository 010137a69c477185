/** Responses with content that is stored compressed, and the content codings that a client accepts. */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { weightsOf } from './content-coding.ts';

/** Whether a header names one of the values without the weight 0 (RFC 9110, 12.4.2). */
function names(header: string | null, values: readonly string[]): boolean {
  const weights = weightsOf(header ?? '');
  return values.some((value) => (weights.get(value) ?? 0) > 0);
}

/** Whether `Accept-Encoding` names a content coding, or anything. */
const acceptsCoding = (request: Request, coding: 'gzip' | 'br'): boolean =>
  names(request.headers.get('accept-encoding'), coding === 'gzip' ? ['gzip', '*'] : ['br']);

/** Whether `Accept` names HTML, as browsers do and API clients don't; a wildcard doesn't count. */
export const acceptsHtml = (request: Request): boolean => names(request.headers.get('accept'), ['text/html']);

/** Whether `Accept` names a stream of server-sent events, as `EventSource` does. */
export const acceptsEvents = (request: Request): boolean => names(request.headers.get('accept'), ['text/event-stream']);

/** A compressed content: with gzip, and optionally with Brotli. */
export interface Packed {
  gzip: Uint8Array<ArrayBuffer>;
  brotli?: Uint8Array<ArrayBuffer>;
}

/** Decompresses on a thread of the runtime: megabytes take ten milliseconds, and this thread serves other clients in that time. */
const unpack = promisify(gunzip);

/** A response in a coding that the client accepts, or uncompressed. @param headers of the response in any coding */
export async function packedAnswer(
  request: Request,
  { gzip, brotli }: Packed,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const varied = { ...headers, vary: 'accept-encoding' };
  if (brotli !== undefined && acceptsCoding(request, 'br')) {
    return new Response(brotli, { headers: { ...varied, 'content-encoding': 'br' } });
  }
  if (acceptsCoding(request, 'gzip')) return new Response(gzip, { headers: { ...varied, 'content-encoding': 'gzip' } });
  return new Response(await unpack(gzip), { headers: varied });
}
