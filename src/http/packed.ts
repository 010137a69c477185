/** Answers with contents that are kept compressed. */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { takesCoding } from './accepts.ts';

/** A content as it is kept: packed with gzip, and perhaps with Brotli as well. */
export interface Packed {
  gzip: Uint8Array<ArrayBuffer> | Blob;
  brotli?: Uint8Array<ArrayBuffer>;
}

/** Unpacks on a thread of the runtime: megabytes take ten milliseconds, and other clients are served meanwhile. */
const unpack = promisify(gunzip);

/** The content in a coding that the client takes, unpacked for others. @param headers of the answer, in any coding */
export async function packedAnswer(
  request: Request,
  { gzip, brotli }: Packed,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const varied = { ...headers, vary: 'accept-encoding' };
  if (brotli !== undefined && takesCoding(request, 'br')) {
    return new Response(brotli, { headers: { ...varied, 'content-encoding': 'br' } });
  }
  if (takesCoding(request, 'gzip')) return new Response(gzip, { headers: { ...varied, 'content-encoding': 'gzip' } });
  const unpacked = await unpack(gzip instanceof Blob ? await gzip.bytes() : gzip);
  return new Response(unpacked, { headers: varied });
}
