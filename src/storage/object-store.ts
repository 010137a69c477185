/** Stores of files by name, and the compressed files in them. */
import { promisify } from 'node:util';
import { constants, zstdCompress } from 'node:zlib';
import type { SizeBounds } from './transfer.ts';

/** Returns the maximum size of compressed data: zstd may lengthen incompressible data by one in 256 bytes, and a frame. */
export const maxCompressedSize = (bytes: number): number => bytes + Math.ceil(bytes / 256) + 1_024;

/** Compression level of zstd. Payloads are already compressed, and rows gain little from a higher level. */
const LEVEL = 3;

const compress = promisify(zstdCompress);

/** Returns the object with the content of a part. */
export const compressPart = (bytes: Uint8Array): Promise<Buffer> =>
  compress(bytes, { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } });

/** Returns the hash that verifies a part. @param bytes of the decompressed part */
export const hashOfPart = (bytes: Uint8Array): string => new Bun.CryptoHasher('sha256').update(bytes).digest('hex');

export interface ObjectSource {
  /** The location in messages, without passwords and keys. */
  readonly location: string;
  /**
   * Reads a file.
   * @param bounds its minimum and maximum size; longer files are not read to the end, shorter responses are requested
   * again
   * @returns null if there is no such file
   * @throws OperatorError if it can't be read, or is too long
   */
  read(name: string, bounds: SizeBounds): Promise<Uint8Array | null>;
}

/** A store that can also list its files. Its functions throw OperatorError. */
export interface ObjectStoreReads extends ObjectSource {
  /** Returns the names that start with a text, sorted. */
  list(prefix: string): Promise<string[]>;
  /** Whether a list of all names reflects a single moment. */
  readonly listsAtOnce?: true;
}

export interface ObjectStore extends ObjectStoreReads {
  /** Checks that the store can probably be written, without writing: its directory can be made, or its bucket answers. */
  check(): Promise<void>;
  /**
   * Writes a file. If a file has the name already, it stays unchanged.
   * @returns whether it was written; after a lost response, false may mean that a previous attempt has written it
   */
  create(name: string, bytes: Uint8Array): Promise<boolean>;
  /** Writes a file. Replaces a file with the same name. */
  write(name: string, bytes: Uint8Array): Promise<void>;
  /** Removes a file, if it exists. */
  remove(name: string): Promise<void>;
}
