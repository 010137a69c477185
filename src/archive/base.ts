/**
 * A base: the rows of the index at an entry. A restore starts from these rows without replaying earlier entries.
 *
 *     base-<entry>-<its chain value>.json.zst     the manifest: written last, and never replaced
 *     part-<SHA-256 of the content>.zst           rows of one table
 *
 * The uncompressed content of a part is text: one line of JSON per row, with the list of its values. Blobs are in hex. Integers
 * that JSON would round are strings. A part's name is the hash of its content, so a part that the archive has isn't sent again.
 *
 * Part boundaries depend only on rows, so all hosts make the same parts. If rows may change anywhere in a table, a part ends
 * with a row whose hash is low enough. A new or changed row then affects only one or two parts. In a table that grows, the size
 * of a part is a share of the bytes before it. The last part, which a longer chain replaces, is then small compared to the
 * table, and a long table has few parts.
 */
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import { type Static, Type } from '@sinclair/typebox';
import { hasCode, OperatorError } from '../base/errors.ts';
import { parsedJson } from '../base/json.ts';
import { mapAhead } from '../base/turns.ts';
import { strictText } from '../codec/utf8.ts';
import { checker } from '../http/checker.ts';
import { compressPart, hashOfPart, maxCompressedSize, type ObjectStoreReads } from '../storage/object-store.ts';
import { privateContentIn, type RowLine } from '../store/base/snapshot.ts';
import type { Head } from '../store/log/entry.ts';
import {
  ArchiveDamagedError,
  compareEntry,
  faultIn,
  PrivateContentError,
  readIdentity,
  readVerified,
  type VerifiedObject,
} from './archive.ts';

export const BASE_FORMAT = 1;

/**
 * Bytes at which a part ends: between the minimum and the maximum. In a table that grows, a part ends at this share of the
 * bytes before it; in other tables, about half of the parts end before the target.
 */
export const PART = { min: 250_000, target: 750_000, max: 4_000_000, share: 1 / 50 };
export type PartSize = typeof PART;

/** Maximum bytes of a part. Neither a row nor the rows of one place in the chain are ever divided. */
const MAX_PART = 256_000_000;
const MAX_MANIFEST = 64 * 1024 * 1024;

const Hex = Type.String({ pattern: '^[0-9a-f]{64}$' });
const Size = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

const Part = Type.Object({
  /** Hash of the uncompressed content, in hex. */
  sha256: Hex,
  /** Bytes of the uncompressed content. */
  bytes: Type.Integer({ minimum: 1, maximum: MAX_PART }),
  rows: Type.Integer({ minimum: 1, maximum: MAX_PART }),
  /** In a table that grows: the value of the growing column in the last row. */
  to: Type.Optional(Size),
});
export type BasePart = Static<typeof Part>;

const Table = Type.Object({
  name: Type.String({ maxLength: 100 }),
  columns: Type.Array(Type.String({ maxLength: 100 }), { maxItems: 100 }),
  parts: Type.Array(Part),
});
export type BaseTableParts = Static<typeof Table>;

const Manifest = Type.Object({
  format: Type.Literal(BASE_FORMAT),
  /** Version of the Stackside that made it. */
  program: Type.String({ maxLength: 100 }),
  created_at: Type.String({ maxLength: 100 }),
  /** Version of the schema of the tables. */
  schema: Size,
  chain_id: Type.Integer({ minimum: 0, maximum: 0xffff_ffff }),
  /** The entry, its chain value, and its time of receipt in Unix microseconds. */
  position: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  chain: Hex,
  received_at: Type.Integer(),
  /** The tip, and the height of the highest known block, canonical or not. */
  height: Size,
  index_block_hash: Hex,
  highest: Size,
  /** Number of times a known block was completed. Rows of canonical blocks don't change while this number stays the same. */
  completions: Size,
  tables: Type.Array(Table, { maxItems: 1_000 }),
});
export type BaseManifest = Static<typeof Manifest>;

export const partName = (sha256: string): string => `part-${sha256}.zst`;
export const PARTS = 'part-';

/** Digits of an entry's number in a name, as in the names of segments. */
const DIGITS = 12;
const BASES = 'base-';

export const baseName = ({ id, chain }: Head): string =>
  `${BASES}${String(id).padStart(DIGITS, '0')}-${chain.toHex()}.json.zst`;

export interface NamedBase extends Head {
  name: string;
}

/** Parses a base's name; returns null for any other name. */
export function parseBaseName(name: string): NamedBase | null {
  const match = /^base-(\d{12,15})-([0-9a-f]{64})\.json\.zst$/.exec(name);
  if (match === null) return null;
  const [, id = '', chain = ''] = match;
  return { name, id: Number(id), chain: Uint8Array.fromHex(chain) };
}

/** Lists the bases of an archive, newest first. @throws OperatorError if the store can't be read */
export async function listBases(store: ObjectStoreReads): Promise<NamedBase[]> {
  const names = await store.list(BASES);
  return names
    .map(parseBaseName)
    .filter((base) => base !== null)
    .sort((a, b) => b.id - a.id);
}

export interface PartContent extends BasePart {
  content: Buffer;
}

/** Number of values of a 32-bit hash. */
const HASHES = 2 ** 32;

/** Whether a part may end with a row. */
const isLow = (line: string, { target }: PartSize): boolean =>
  Bun.hash.xxHash32(line) < (line.length / target) * HASHES;

/**
 * Divides rows into parts.
 * @param rows of one table, in their order; in a table that grows, a part ends only where the growing column changes
 * @param bytesBefore bytes of the parts of the table before these rows
 */
export function* partsOfRows(rows: Iterable<RowLine>, bytesBefore = 0, size: PartSize = PART): Generator<PartContent> {
  let lines: string[] = [];
  let bytes = 0;
  let isEnding = false;
  let last: number | null = null;
  let bytesOfParts = bytesBefore;

  function part(): PartContent {
    const content = Buffer.from(`${lines.join('\n')}\n`);
    const part = { sha256: hashOfPart(content), bytes: content.length, rows: lines.length, content };
    [lines, bytes, isEnding] = [[], 0, false];
    bytesOfParts += content.length;
    return last === null ? part : { ...part, to: last };
  }

  for (const { at: position, line } of rows) {
    if (isEnding && (position === null || position !== last)) yield part();
    lines.push(line);
    bytes += line.length + 1;
    last = position;
    const mayEnd = position === null ? isLow(line, size) : bytes >= bytesOfParts * size.share;
    isEnding ||= bytes >= size.max || (bytes >= size.min && mayEnd);
  }
  if (lines.length > 0) yield part();
}

const decompress = promisify(zstdDecompress);

/** Returns the content of an object. @throws ArchiveDamagedError that names it */
async function unpack(store: ObjectStoreReads, name: string, object: Uint8Array, maxBytes: number): Promise<Buffer> {
  try {
    return await decompress(object, { maxOutputLength: maxBytes });
  } catch (cause) {
    const reason = hasCode(cause, 'ERR_BUFFER_TOO_LARGE') ? 'it is too large' : "it can't be decompressed";
    throw new ArchiveDamagedError(store, `${name} is a damaged part of a base: ${reason}`, { cause });
  }
}

/** Returns the content of a part. @throws ArchiveDamagedError that names it */
async function readContent(store: ObjectStoreReads, name: string, { sha256, bytes }: BasePart): Promise<Buffer> {
  const content = await readVerified(store, name, maxCompressedSize(bytes), async (object) => {
    const content = await unpack(store, name, object, bytes);
    if (content.length === bytes && hashOfPart(content) === sha256) return content;
    throw new ArchiveDamagedError(store, `${name} is a damaged part of a base: its hash is wrong`);
  });
  if (content === null) throw new ArchiveDamagedError(store, `${name}, a part of a base, is missing`);
  return content;
}

/**
 * Reads the rows of a part and verifies its hash.
 * @returns lists of values; the types of the rows aren't verified
 * @throws ArchiveDamagedError that names it; OperatorError if the store can't be read
 */
export async function readRows(store: ObjectStoreReads, part: BasePart): Promise<unknown[]> {
  const name = partName(part.sha256);
  const text = strictText(await readContent(store, name, part));
  const rows = text?.endsWith('\n') ? parsedJson(`[${text.slice(0, -1).replaceAll('\n', ',')}]`) : undefined;
  if (Array.isArray(rows) && rows.length === part.rows) return rows;
  throw new ArchiveDamagedError(store, `${name} is a damaged part of a base: its rows don't match the base`);
}

/** A part with its table as the manifest describes it. */
export interface StoredPart {
  stored: BaseTableParts;
  part: BasePart;
}

/** @throws PrivateContentError if rows have content that a public archive omits */
export function requirePublicRows(
  store: ObjectStoreReads,
  { stored, part }: StoredPart,
  rows: readonly unknown[],
): void {
  const content = privateContentIn(stored, rows);
  if (content !== null) throw new PrivateContentError(store, `${partName(part.sha256)} has ${content}`);
}

/** Returns the object of a manifest. */
export function packManifest(manifest: BaseManifest): Promise<Buffer> {
  const sha256 = hashOfPart(Buffer.from(JSON.stringify(manifest)));
  return compressPart(Buffer.from(`${JSON.stringify({ manifest, sha256 })}\n`));
}

const mistakeIn = checker(Manifest);

/** Returns the fault of a manifest, as the end of a sentence; null if there is none. */
function manifestFault(named: NamedBase, manifest: unknown, sha256: unknown): string | null {
  if (sha256 !== hashOfPart(Buffer.from(JSON.stringify(manifest) ?? ''))) return 'its checksum is wrong';
  const mistake = mistakeIn(manifest);
  if (mistake !== null) return `${mistake.path.join('.') || 'it'} ${mistake.rule}`;
  const { position, chain } = manifest as BaseManifest;
  return position === named.id && chain === named.chain.toHex() ? null : `it is the base of entry ${position}`;
}

/**
 * Reads the manifest of a base.
 * @returns null if it is gone
 * @throws ArchiveDamagedError that names it; OperatorError if a newer program made it, or the store can't be read
 */
export const readManifest = (store: ObjectStoreReads, named: NamedBase): Promise<BaseManifest | null> =>
  readVerified(store, named.name, MAX_MANIFEST, (object) => parseManifest(store, named, object));

/** Parses the object of a manifest. @throws ArchiveDamagedError that names it; OperatorError if a newer program made it */
export async function parseManifest(
  store: ObjectStoreReads,
  named: NamedBase,
  object: Uint8Array,
): Promise<BaseManifest> {
  const { name } = named;
  const text = strictText(await unpack(store, name, object, MAX_MANIFEST));
  const { manifest, sha256 } = Object(parsedJson(text ?? ''));
  const { format } = Object(manifest);
  if (typeof format === 'number' && format > BASE_FORMAT) {
    throw new OperatorError(
      `${name} of the archive at ${store.location} has format ${format}; this version reads formats up to ${BASE_FORMAT}.`,
      'Use the newer version of Stackside that wrote it, or choose an older base with --base.',
    );
  }
  const fault = manifestFault(named, manifest, sha256);
  if (fault === null) return manifest as BaseManifest;
  throw new ArchiveDamagedError(store, `${name} is a damaged base: ${fault}`);
}

/** Reads the manifest of a base; null if it is gone or damaged. The command archive verify names the damaged ones. */
export const readManifestIfSound = (store: ObjectStoreReads, named: NamedBase): Promise<BaseManifest | null> =>
  readManifest(store, named).catch((error: unknown) => {
    if (error instanceof ArchiveDamagedError) return null;
    throw error;
  });

/** Returns the newest base with a sound manifest; null if there is none. */
export async function readNewestBase(store: ObjectStoreReads): Promise<BaseManifest | null> {
  for (const named of await listBases(store)) {
    const base = await readManifestIfSound(store, named);
    if (base !== null) return base;
  }
  return null;
}

/** @returns null if the base was removed in the meantime @throws ArchiveDamagedError */
async function readSoundBase(store: ObjectStoreReads, named: NamedBase): Promise<BaseManifest | null> {
  const base = await readManifest(store, named);
  if (base === null) return null;
  const match = await compareEntry(store, named);
  if (match === 'this') return base;
  throw new ArchiveDamagedError(
    store,
    match === 'other'
      ? `${named.name} belongs to another log: entry ${named.id} of its segments has another chain value`
      : `entry ${named.id}, the last one of ${named.name}, is missing`,
  );
}

/** Reads and verifies every base of an archive and all their parts. @throws OperatorError if the store can't be read */
export async function* verifyBases(store: ObjectStoreReads): AsyncGenerator<VerifiedObject> {
  const isPublic = (await readIdentity(store))?.public === true;
  const seen = new Set<string>();
  for (const named of await listBases(store)) {
    const { name, id } = named;
    const range = { first: id, last: id };
    const result = await readSoundBase(store, named).catch(faultIn);
    yield { name, ...range, fault: typeof result === 'string' ? result : null };
    if (result === null || typeof result === 'string') continue;
    const parts: StoredPart[] = [];
    for (const stored of result.tables) {
      for (const part of stored.parts) {
        // Whether rows are private depends on their table.
        const key = `${stored.name} ${part.sha256}`;
        if (seen.has(key)) continue;
        seen.add(key);
        parts.push({ stored, part });
      }
    }
    yield* mapAhead(parts, async (item) => ({
      ...range,
      name: partName(item.part.sha256),
      fault: await readRows(store, item.part)
        .then((rows) => (isPublic ? requirePublicRows(store, item, rows) : undefined))
        .then(() => null, faultIn),
    }));
  }
}
