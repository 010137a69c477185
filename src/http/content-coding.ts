/** Content codings of responses (RFC 9110, 8.4.1 and 12.5.3), and the types that a client accepts. */
import { promisify } from 'node:util';
import { brotliCompressSync, constants, gunzip } from 'node:zlib';
import { memoize } from '../base/cache.ts';

/** Content codings, the cheapest first. A client that accepts several without a preference gets the first one. */
const codings = ['zstd', 'gzip', 'br'] as const;
export type Coding = (typeof codings)[number];

/** Length in characters from which a response is compressed. */
export const MIN_COMPRESSED_LENGTH = 1_024;

/** The fastest levels: on JSON, higher levels take several times as long for a few per cent. */
const pack: Readonly<Record<Coding, (text: string) => Uint8Array<ArrayBuffer>>> = {
  zstd: (text) => new Uint8Array(Bun.zstdCompressSync(text, { level: 1 })),
  gzip: (text) => Bun.gzipSync(text, { level: 1 }),
  br: (text) => new Uint8Array(brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })),
};

/** Compresses a text. */
export const compress = (text: string, coding: Coding): Uint8Array<ArrayBuffer> => pack[coding](text);

/** Maximum number of remembered headers. Clients send few different ones. */
const MAX_HEADERS = 100;
/** Maximum length of a remembered header. */
const MAX_HEADER = 200;

/** Returns the weights of the values that a header names, by their names in lower case. */
function parseWeights(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const part of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim());
    const weight = parameters.map((text) => /^q=([01](?:\.\d{0,3})?)$/.exec(text)?.[1]).find((q) => q !== undefined);
    if (name !== '') weights.set(name, weight === undefined ? 1 : Number(weight));
  }
  return weights;
}

/** Returns the coding that a header prefers to no coding; null if there is none. */
function preferredCoding(header: string): Coding | null {
  const weights = parseWeights(header);
  // A client that accepts any coding may still lack the newer ones.
  const others = { zstd: 0, gzip: weights.get('*') ?? 0, br: 0 };
  // A client that doesn't name `identity` accepts it, and prefers each coding that it names.
  let best = weights.get('identity') ?? 0;
  let bestCoding: Coding | null = null;
  for (const coding of codings) {
    const weight = weights.get(coding) ?? others[coding];
    if (weight === 0 || weight < best || (bestCoding !== null && weight === best)) continue;
    best = weight;
    bestCoding = coding;
  }
  return bestCoding;
}

const cachedCoding = memoize(preferredCoding, MAX_HEADERS);

/** Returns the coding for a response. @param header `Accept-Encoding` @returns null for an uncompressed response */
export function codingFor(header: string | null): Coding | null {
  if (header === null) return null;
  return header.length > MAX_HEADER ? preferredCoding(header) : cachedCoding(header);
}

/** Whether a header names one of the values without the weight 0 (RFC 9110, 12.4.2). */
function names(header: string | null, values: readonly string[]): boolean {
  const weights = parseWeights(header ?? '');
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
