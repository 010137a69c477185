/** What a backup is: its manifest, its parts, and the places that it is written to and read from. */
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

/** Counts changes of the form of backups. */
export const FORMAT = 1;
export const MANIFEST = 'manifest.json';

/** Bytes of a database file that make a part. */
export const PART_BYTES = 16 * 1024 * 1024;
const LEAST_PART_BYTES = 512;
const MOST_PART_BYTES = 64 * 1024 * 1024;
/** Bytes by which zstd may lengthen what it can't compress: one in 256, and a frame. */
const longestCompressed = (bytes: number): number => bytes + Math.ceil(bytes / 256) + 1_024;
/** Bytes of the longest manifest that is read: that of a terabyte has some 7 MB. */
export const LONGEST_MANIFEST = 64 * 1024 * 1024;

const Hash = Type.String({ pattern: '^[0-9a-f]{64}$' });
const Size = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

const Part = Type.Object({
  /** Bytes of the part, which are compressed. */
  bytes: Type.Integer({ minimum: 1 }),
  /** The hash of what the part holds, decompressed. */
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
  /** Version of the Stackside that wrote it. */
  program: Type.String(),
  created_at: Type.String(),
  /** Random: parts of two backups under one name can't be taken for each other's. */
  generation: Type.String(),
  chain_id: Type.Union([Type.Integer({ minimum: 0, maximum: 0xffff_ffff }), Type.Null()]),
  network: Type.Union([Type.Literal('mainnet'), Type.Literal('testnet'), Type.Null()]),
  height: Type.Union([Size, Type.Null()]),
  index_block_hash: Type.Union([Type.String(), Type.Null()]),
  /** The last event that the backup holds, and its chain value in hex. */
  position: Size,
  chain: Type.String({ pattern: '^[0-9a-f]*$' }),
  schema: Type.Object({ index: Size, journal: Size }),
  /** Names of files of the data directory that the backup leaves out, and that are needed to go on as before. */
  keep_elsewhere: Type.Optional(Type.Array(Type.String())),
  /** Whether commands, and what they made, are left out: the backup has the chain alone. */
  public: Type.Boolean(),
  compression: Type.Literal('zstd'),
  part_bytes: Type.Integer({ minimum: LEAST_PART_BYTES, maximum: MOST_PART_BYTES }),
  /** Bytes of all files, and of all parts. */
  bytes: Size,
  compressed_bytes: Size,
  files: Type.Array(BackupFile, { minItems: 2, maxItems: 2 }),
});
export type Manifest = Static<typeof Manifest>;

export const partName = (number: number): string => `part-${String(number).padStart(6, '0')}.zst`;

/** Whether a name is that of a file of backups. */
export const isBackupFile = (name: string): boolean => name === MANIFEST || /^part-\d{6,}\.zst$/.test(name);

/** A part of a backup, and where what it holds belongs. */
export interface LocatedPart extends Part {
  /** Counted from 1 over all files. */
  number: number;
  file: BackupFile['name'];
  offset: number;
  /** Bytes of what it holds. */
  length: number;
}

/** All parts, in the order of their numbers. */
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

/** The bytes of a manifest's file. */
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

/** What is wrong with the sizes that a manifest declares; null where nothing is. */
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

/** The format that a manifest names, which may be one of the future; null where it names none. */
function formatOf(manifest: unknown): number | null {
  const format = typeof manifest === 'object' && manifest !== null && 'format' in manifest ? manifest.format : null;
  return typeof format === 'number' ? format : null;
}

/**
 * Reads a manifest.
 * @param location of the backup, for errors
 * @throws OperatorError where it is not whole, contradicts itself, or is of a format that this program doesn't know
 */
export function readManifest(location: string, bytes: Uint8Array): Manifest {
  const { manifest, sha256 } = parsed(location, bytes);
  if (sha256 !== hashOf(JSON.stringify(manifest) ?? '')) throw damaged(location, 'its checksum is another');
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
 * Sees to it that this program can serve what a backup holds. A file of an older version is brought up to date by the
 * first start, as it is after an upgrade.
 * @throws OperatorError where a newer program wrote it
 */
export function requireReadable(location: string, { schema, program }: Manifest): void {
  if (schema.index <= SCHEMA_VERSION && schema.journal <= JOURNAL_VERSION) return;
  throw new OperatorError(
    `The backup at ${location} was written by a newer Stackside, ${program}: its index has schema ${schema.index}, and this program knows ${SCHEMA_VERSION}.`,
    'Restore it with that Stackside or a later one.',
  );
}

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
    throw new PartDamagedError('its checksum is another');
  }
  return content;
}

/** A place that a backup is read from. */
export interface BackupSource {
  /** The name of the place in messages, without passwords and keys. */
  readonly location: string;
  /**
   * The bytes of one of its files.
   * @param bounds of its bytes: a longer one is not read to its end, and a server that sends less is asked again
   * @returns null where there is no such file
   * @throws OperatorError where it can't be read, or is longer
   */
  read(name: string, bounds: SizeBounds): Promise<Uint8Array | null>;
}

/** A place that a backup is written to. */
export interface BackupTarget extends BackupSource {
  /** A directory to copy the data to meanwhile. Whoever writes the backup locks it, before anything else is done. */
  readonly staging: string;
  /** Makes room for a new backup. @throws OperatorError where a backup is there already */
  begin(): Promise<void>;
  /** Writes one of its files. @throws OperatorError */
  write(name: string, bytes: Uint8Array): Promise<void>;
  /** Makes a backup of what was written. The staging directory is gone by then. @throws OperatorError */
  finish(): Promise<void>;
  /** Removes what was written, as far as that can be done. */
  discard(): Promise<void>;
}
