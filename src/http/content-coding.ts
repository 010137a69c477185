/** Content codings of responses (RFC 9110, 8.4.1 and 12.5.3), and the types that a client accepts. */
import { promisify } from 'node:util';
import { brotliCompress, brotliCompressSync, constants, gunzip, gzip, zstdCompress } from 'node:zlib';
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

/** Returns the coding that a header prefers to no coding; null if there is none. @param offered in the server's order */
function preferredCoding(header: string, offered: readonly Coding[]): Coding | null {
  const weights = parseWeights(header);
  // A client that accepts any coding may still lack the newer ones.
  const others = { zstd: 0, gzip: weights.get('*') ?? 0, br: 0 };
  // A client that doesn't name `identity` accepts it, and prefers each coding that it names.
  let best = weights.get('identity') ?? 0;
  let bestCoding: Coding | null = null;
  for (const coding of offered) {
    const weight = weights.get(coding) ?? others[coding];
    if (weight === 0 || weight < best || (bestCoding !== null && weight === best)) continue;
    best = weight;
    bestCoding = coding;
  }
  return bestCoding;
}

const cachedCoding = memoize((header: string) => preferredCoding(header, codings), MAX_HEADERS);

/** Returns the coding for a response. @param header `Accept-Encoding` @returns null for an uncompressed response */
export function codingFor(header: string | null): Coding | null {
  if (header === null) return null;
  return header.length > MAX_HEADER ? preferredCoding(header, codings) : cachedCoding(header);
}

/** Whether a header names one of the values without the weight 0 (RFC 9110, 12.4.2). */
function names(header: string | null, values: readonly string[]): boolean {
  const weights = parseWeights(header ?? '');
  return values.some((value) => (weights.get(value) ?? 0) > 0);
}

/** Whether `Accept` names HTML, as browsers do and API clients don't; a wildcard doesn't count. */
export const acceptsHtml = (request: Request): boolean => names(request.headers.get('accept'), ['text/html']);

/** Whether `Accept` names a stream of server-sent events, as `EventSource` does. */
export const acceptsEvents = (request: Request): boolean => names(request.headers.get('accept'), ['text/event-stream']);

export type Packed = Readonly<Record<Coding, Uint8Array<ArrayBuffer>>>;

/** The codings of a packed content, the smallest first. */
const smallestFirst: readonly Coding[] = ['br', 'zstd', 'gzip'];

const asBytes = (buffer: Buffer): Uint8Array<ArrayBuffer> => new Uint8Array(buffer);

/**
 * Compresses a content that is sent often, better than {@link compress} and on threads of the runtime. Higher levels take many
 * times as long for a few per cent.
 */
export async function packed(content: Uint8Array | ArrayBuffer): Promise<Packed> {
  const [zstd, gzipped, br] = await Promise.all([
    promisify(zstdCompress)(content, { params: { [constants.ZSTD_c_compressionLevel]: 9 } }),
    promisify(gzip)(content, { level: 9 }),
    promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  ]);
  return { zstd: asBytes(zstd), gzip: asBytes(gzipped), br: asBytes(br) };
}

/** Decompresses on a thread of the runtime: megabytes take ten milliseconds, and this thread serves other clients in that time. */
const unpack = promisify(gunzip);

/** A response in the coding that the client prefers, or uncompressed. @param headers of the response in any coding */
export async function packedAnswer(
  request: Request,
  content: Packed,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const varied = { ...headers, vary: 'accept-encoding' };
  const coding = preferredCoding(request.headers.get('accept-encoding') ?? '', smallestFirst);
  if (coding === null) return new Response(await unpack(content.gzip), { headers: varied });
  return new Response(content[coding], { headers: { ...varied, 'content-encoding': coding } });
}
