/** Decompresses bodies of responses, by their content coding. */
import { brotliDecompressSync } from 'node:zlib';

export const unpack = {
  zstd: (bytes: Uint8Array<ArrayBuffer>) => Bun.zstdDecompressSync(bytes),
  gzip: (bytes: Uint8Array<ArrayBuffer>) => Bun.gunzipSync(bytes),
  br: (bytes: Uint8Array<ArrayBuffer>) => brotliDecompressSync(bytes),
} as const;
