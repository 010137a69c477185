/** The bytes of a part: compressed, and verified before they are used. */
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import { hasCode } from '../base/errors.ts';
import type { PlacedPart } from './manifest.ts';

/** The payloads of the journal are compressed already, and the pages of the index gain little from a higher level. */
const LEVEL = 3;

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

export const compressedPart = (bytes: Uint8Array): Promise<Buffer> =>
  compress(bytes, { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } });

/** The hash by which a part is verified. @param bytes what the part holds, decompressed */
export const hashOfPart = (bytes: Uint8Array): string => new Bun.CryptoHasher('sha256').update(bytes).digest('hex');

/** A part is not what its manifest says. */
export class PartDamagedError extends Error {
  override readonly name = 'PartDamagedError';
}

/**
 * What a part holds. No more is decompressed than the manifest declares.
 * @throws PartDamagedError where that is not what the manifest says
 */
export async function contentOfPart(
  { bytes, sha256, length }: Pick<PlacedPart, 'bytes' | 'sha256' | 'length'>,
  part: Uint8Array,
): Promise<Buffer> {
  if (part.length !== bytes) throw new PartDamagedError(`it has ${part.length} bytes in place of ${bytes}`);
  const content = await decompress(part, { maxOutputLength: length }).catch((cause: unknown) => {
    const isLonger = hasCode(cause, 'ERR_BUFFER_TOO_LARGE');
    const why = isLonger ? 'it holds more than the manifest says' : 'it can not be decompressed';
    throw new PartDamagedError(why, { cause });
  });
  if (content.length !== length || hashOfPart(content) !== sha256) {
    throw new PartDamagedError('its checksum is another');
  }
  return content;
}
