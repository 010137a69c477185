/** The format of backups: manifest and parts, and the interfaces for reading and writing them. */
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import { type Static, Type } from '@sinclair/typebox';
import { hasCode, OperatorError } from '../base/errors.ts';
import { parsedJson } from '../base/json.ts';
import { strictText } from '../codec/utf8.ts';
import { checker } from '../http/checker.ts';
import { SCHEMA_VERSION } from '../store/files/database.ts';
import { JOURNAL_VERSION } from '../store/files/journal.ts';
import type { SizeBounds } from './transfer.ts';

/** Version of the backup format. */
export const FORMAT = 1;
export const MANIFEST = 'manifest.json';

/** Bytes of a database file in one part. */
export const PART_BYTES = 16 * 1024 * 1024;
const LEAST_PART_BYTES = 512;
const MOST_PART_BYTES = 64 * 1024 * 1024;
/** Maximum size of compressed data: zstd may lengthen incompressible data by one in 256 bytes, and a frame. */
export const longestCompressed = (bytes: number): number => bytes + Math.ceil(bytes / 256) + 1_024;
/** Maximum bytes of a manifest: that of a terabyte has some 7 MB. */
export const LONGEST_MANIFEST = 64 * 1024 * 1024;

const Hash = Type.String({ pattern: '^[0-9a-f]{64}$' });
const Size = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

const Part = Type.Object({
  /** Bytes of the compressed part. */
  bytes: Type.Integer({ minimum: 1 }),
  /** Hash of the decompressed part. */
  sha256: Hash,
});
export type Part = Static<typeof Part>;

const BackupFile = Type.Object({
  name: Type.Union([Type.Literal('index.db'), Type.Literal('journal.db')]),
  bytes: Size,
  parts: Type.Array(Part),
});
export type BackupFile = Static<typeof BackupFile>;

export const Manifest = Type.Object({
  format: Type.Literal(FORMAT),
  /** Version of the Stackside that wrote the backup. */
  program: Type.String(),
  created_at: Type.String(),
  /** A random id, which tells the parts of two backups under one name apart. */
  generation: Type.String(),
  chain_id: Type.Union([Type.Integer({ minimum: 0, maximum: 0xffff_ffff }), Type.Null()]),
  network: Type.Union([Type.Literal('mainnet'), Type.Literal('testnet'), Type.Null()]),
  height: Type.Union([Size, Type.Null()]),
  index_block_hash: Type.Union([Type.String(), Type.Null()]),
  /** Number of the last entry in the backup. */
  position: Size,
  chain: Type.String({ pattern: '^[0-9a-f]*$' }),
  schema: Type.Object({ index: Size, journal: Size }),
  /** Names of files of the data directory that the backup doesn't have, but a restored server needs. */
  keep_elsewhere: Type.Optional(Type.Array(Type.String())),
  /** Whether the backup has only the chain: neither commands nor the tables that they change. */
  public: Type.Boolean(),
  compression: Type.Literal('zstd'),
  part_bytes: Type.Integer({ minimum: LEAST_PART_BYTES, maximum: MOST_PART_BYTES }),
  /** Bytes of all database files; `compressed_bytes` has those of all parts. */
  bytes: Size,
  compressed_bytes: Size,
  files: Type.Array(BackupFile, { minItems: 2, maxItems: 2 }),
});
export type Manifest = Static<typeof Manifest>;

export const partName = (number: number): string => `part-${String(number).padStart(6, '0')}.zst`;

/** Whether a file name is one of a backup's. */
export const isBackupFile = (name: string): boolean => name === MANIFEST || /^part-\d{6,}\.zst$/.test(name);

/** A part with its place in a database file. */
export interface LocatedPart extends Part {
  /** Counted from 1 over all files. */
  number: number;
  file: BackupFile['name'];
  offset: number;
  /** Bytes of the decompressed part. */
  length: number;
}

/** All parts by number. */
export function partsOf({ files, part_bytes }: Pick<Manifest, 'files' | 'part_bytes'>): LocatedPart[] {
  const parts: LocatedPart[] = [];
  for (const { name, bytes, parts: ofFile } of files) {
    for (const [index, part] of ofFile.entries()) {
      const offset = index * part_bytes;
      const length = Math.min(part_bytes, bytes - offset);
      parts.push({ ...part, number: parts.length + 1, file: name, offset, length });
    }
  }
  return parts;
}

const hashOf = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex');

/** Serializes a manifest. */
export function manifestBytes(manifest: Manifest): Buffer {
  return Buffer.from(`${JSON.stringify({ manifest, sha256: hashOf(JSON.stringify(manifest)) }, null, 1)}\n`);
}

const damaged = (location: string, why: string): OperatorError =>
  new OperatorError(
    `The manifest of the backup at ${location} is damaged: ${why}.`,
    'Copy the backup once more from where it was made, or take another.',
  );

function parsed(location: string, bytes: Uint8Array): { manifest?: unknown; sha256?: unknown } {
  const text = strictText(bytes);
  if (text === null) throw damaged(location, 'it is not UTF-8');
  const value = parsedJson(text);
  if (value === undefined) throw damaged(location, 'it is not JSON');
  return typeof value === 'object' && value !== null ? value : {};
}

const mistakeIn = checker(Manifest);

/** Checks the sizes in a manifest against each other. @returns what is wrong; null if they agree */
function wrongSizes({ files, part_bytes, bytes, compressed_bytes }: Manifest): string | null {
  if (files[0]?.name !== 'index.db' || files[1]?.name !== 'journal.db') return 'files must be index.db and journal.db';
  for (const file of files) {
    if (file.parts.length !== Math.ceil(file.bytes / part_bytes)) return `${file.name} has another number of parts`;
  }
  const parts = partsOf({ files, part_bytes });
  const long = parts.find((part) => part.bytes > longestCompressed(part.length));
  if (long !== undefined) return `part ${long.number} is longer than what it holds`;
  if (bytes !== files.reduce((sum, file) => sum + file.bytes, 0)) return 'bytes is not the sum of its files';
  if (compressed_bytes !== parts.reduce((sum, part) => sum + part.bytes, 0)) {
    return 'compressed_bytes is not the sum of its parts';
  }
  return null;
}

/** The format version in a manifest, which may be a newer one; null if it has none. */
function formatOf(manifest: unknown): number | null {
  const format = typeof manifest === 'object' && manifest !== null && 'format' in manifest ? manifest.format : null;
  return typeof format === 'number' ? format : null;
}

/**
 * Reads a manifest.
 * @param location of the backup, for errors
 * @throws OperatorError if it is incomplete or contradictory, or has a newer format
 */
export function readManifest(location: string, bytes: Uint8Array): Manifest {
  const { manifest, sha256 } = parsed(location, bytes);
  if (sha256 !== hashOf(JSON.stringify(manifest) ?? '')) throw damaged(location, 'its checksum is wrong');
  const format = formatOf(manifest);
  if (format !== null && format > FORMAT) {
    throw new OperatorError(
      `The backup at ${location} has format ${format}; this program reads format ${FORMAT}.`,
      'Restore it with the newer Stackside that wrote it.',
    );
  }
  const mistake = mistakeIn(manifest);
  if (mistake !== null) throw damaged(location, `${mistake.path.join('.') || 'it'} ${mistake.rule}`);
  const found = manifest as Manifest;
  const wrong = wrongSizes(found);
  if (wrong !== null) throw damaged(location, wrong);
  return found;
}

/**
 * Checks that this program can serve a backup. Files of an older version are migrated by the first start, as after an
 * upgrade.
 * @throws OperatorError if a newer program wrote it
 */
export function requireReadable(location: string, { schema, program }: Manifest): void {
  if (schema.index <= SCHEMA_VERSION && schema.journal <= JOURNAL_VERSION) return;
  throw new OperatorError(
    `The backup at ${location} was written by a newer Stackside, ${program}: its index has schema ${schema.index}, and this program knows ${SCHEMA_VERSION}.`,
    'Restore it with that Stackside or a later one.',
  );
}

/** Compression level of zstd. The journal's payloads are compressed already, and index pages gain little from a higher level. */
const LEVEL = 3;

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

export const compressedPart = (bytes: Uint8Array): Promise<Buffer> =>
  compress(bytes, { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } });

/** The hash that verifies a part. @param bytes of the decompressed part */
export const hashOfPart = (bytes: Uint8Array): string => new Bun.CryptoHasher('sha256').update(bytes).digest('hex');

/** A part differs from its manifest. */
export class PartDamagedError extends Error {
  override readonly name = 'PartDamagedError';
}

/**
 * Decompresses a part, to the size in the manifest at most.
 * @throws PartDamagedError if its size or hash differs from the manifest
 */
export async function contentOfPart(
  { bytes, sha256, length }: Pick<LocatedPart, 'bytes' | 'sha256' | 'length'>,
  part: Uint8Array,
): Promise<Buffer> {
  if (part.length !== bytes) throw new PartDamagedError(`it has ${part.length} bytes in place of ${bytes}`);
  const content = await decompress(part, { maxOutputLength: length }).catch((cause: unknown) => {
    const isLonger = hasCode(cause, 'ERR_BUFFER_TOO_LARGE');
    const why = isLonger ? 'it holds more than the manifest says' : "it can't be decompressed";
    throw new PartDamagedError(why, { cause });
  });
  if (content.length !== length || hashOfPart(content) !== sha256) {
    throw new PartDamagedError('its checksum is wrong');
  }
  return content;
}

/** A location from which a backup is read. */
export interface BackupSource {
  /** The location in messages, without passwords and keys. */
  readonly location: string;
  /**
   * Reads a file of the backup.
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
  /** Whether it lists only what a reader needs to begin with. */
  readonly isPartial?: true;
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

/** A location to which a backup is written. */
export interface BackupTarget extends BackupSource {
  /** The staging directory, into which the data is copied. The writer of the backup locks it first. */
  readonly staging: string;
  /** Begins a new backup. @throws OperatorError if there is one already */
  begin(): Promise<void>;
  /** Writes a file of the backup. @throws OperatorError */
  write(name: string, bytes: Uint8Array): Promise<void>;
  /** Completes the backup; the staging directory was removed before. @throws OperatorError */
  finish(): Promise<void>;
  /** Removes the written files as far as possible. */
  discard(): Promise<void>;
}
