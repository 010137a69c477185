/** Places that hold files by name, and the compressed files in them. */
import { promisify } from 'node:util';
import { constants, zstdCompress } from 'node:zlib';
import type { SizeBounds } from './transfer.ts';

/** Maximum size of compressed data: zstd may lengthen incompressible data by one in 256 bytes, and a frame. */
export const longestCompressed = (bytes: number): number => bytes + Math.ceil(bytes / 256) + 1_024;

/** Compression level of zstd. Payloads are compressed already, and rows gain little from a higher level. */
const LEVEL = 3;

const compress = promisify(zstdCompress);

export const compressedPart = (bytes: Uint8Array): Promise<Buffer> =>
  compress(bytes, { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } });

/** The hash that verifies a part. @param bytes of the decompressed part */
export const hashOfPart = (bytes: Uint8Array): string => new Bun.CryptoHasher('sha256').update(bytes).digest('hex');

/** A location from which files are read by name. */
export interface BackupSource {
  /** The location in messages, without passwords and keys. */
  readonly location: string;
  /**
   * Reads a file.
   * @param bounds its minimum and maximum size; longer files are not read to the end, shorter answers are requested again
   * @returns null if there is no such file
   * @throws OperatorError if it can't be read, or is too long
   */
  read(name: string, bounds: SizeBounds): Promise<Uint8Array | null>;
}

/** A place whose files are read and listed. Its functions throw OperatorError. */
export interface PlaceReads extends BackupSource {
  /** Names that begin with a text, sorted. */
  list(beginning: string): Promise<string[]>;
  /** Whether one list of all names is of one moment. */
  readonly listsAtOnce?: true;
}

/** A place whose files are also written one by one. */
export interface Place extends PlaceReads {
  /**
   * Writes a file unless one has the name, which stays as it is then.
   * @returns whether it was written; where an answer is lost, false may mean that an attempt before has written it
   */
  create(name: string, bytes: Uint8Array): Promise<boolean>;
  /** Writes a file, in place of one of the name. */
  write(name: string, bytes: Uint8Array): Promise<void>;
  /** Removes a file, if it is there. */
  remove(name: string): Promise<void>;
}
