/**
 * A segment: consecutive entries of the log in one object of an archive.
 *
 *     segment-<first entry>-<last entry>-<chain value of the last>.zst     sealed: it never changes
 *     open-<host>.zst, open-<host>-<lease>.zst                             the entries after the last sealed segment
 *
 * The uncompressed content is text: a line of JSON about the segment, then for each entry a line of JSON and the text.
 *
 *     {"format":1,"first":1,"last":2,"before":"<hex>","chain":"<hex>","sha256":"<hex>"}
 *     {"received_at":1760000000000000,"path":"/new_block","bytes":20}
 *     {"block_height": 1 }
 *
 * `before` is the chain value before the first entry, and `chain` is the chain value of the last entry. `sha256` is the hash of
 * all bytes after the first line. `bytes` is the length of a text without the line feed after it. Entries are the same as in
 * the log: secrets in commands stay sealed, and a withheld entry has an empty path and its two hashes as its text
 * (`store/log/entry.ts`).
 *
 * Segment boundaries depend only on the log, so all hosts of a log make the same segments.
 */
import { promisify } from 'node:util';
import { createZstdDecompress, zstdDecompress } from 'node:zlib';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { hasCode } from '../base/errors.ts';
import { parsedJson } from '../base/json.ts';
import { WITHHELD_PATH } from '../chain/payload-reader.ts';
import { strictText } from '../codec/utf8.ts';
import { hashOfPart } from '../storage/object-store.ts';
import {
  type BatchLimits,
  type Entry,
  type Head,
  headAfter,
  LOG_START,
  nextChain,
  sameChain,
} from '../store/log/entry.ts';

/** Version of the format of segments, and of the archive. */
export const FORMAT = 1;

/**
 * Limits of a segment. It ends with the entry that reaches either limit. The byte limit bounds the upload every few seconds
 * while the segment is open, and the memory of readers. Compressed, about 600 KB remain. The entry limit is for small entries,
 * such as mempool events. Changing a limit changes the format.
 */
export const SEGMENT: BatchLimits = { entries: 4_000, bytes: 4_000_000 };

/** Maximum bytes of a segment before and after compression: an entry may be a whole genesis block, and is never divided. */
export const MAX_SEGMENT_BYTES = 1_000_000_000;

/**
 * Maximum bytes of content that a reader decompresses before it has verified them: an object of 30 KB can have content of a
 * gigabyte. Open parts are never larger: their texts have fewer characters than the limit of a segment, of 3 bytes at most.
 */
const MAX_UNVERIFIED_BYTES = 16_000_000;

/** The entries of a segment by their numbers, with the chain value of the last. */
export interface SegmentRange {
  first: number;
  last: number;
  chain: Uint8Array;
}

/** Returns the last entry of a segment; the start of the log if there is no segment. */
export const headOf = (segment: SegmentRange | undefined): Head =>
  segment === undefined ? LOG_START : { id: segment.last, chain: segment.chain };

/** Prefixes of the names of sealed segments and open parts. */
export const SEGMENTS = 'segment-';
export const OPEN_PARTS = 'open-';

/** Digits of an entry's number in a name. Names then sort in the order of entries. */
const DIGITS = 12;
const digits = (id: number): string => String(id).padStart(DIGITS, '0');

/** Returns the name prefix of all sealed segments that begin with an entry. */
export const segmentPrefix = (first: number): string => `${SEGMENTS}${digits(first)}-`;

export const segmentName = ({ first, last, chain }: SegmentRange): string =>
  `${segmentPrefix(first)}${digits(last)}-${chain.toHex()}.zst`;

/** Parses the range in a sealed segment's name; returns null for any other name. */
export function parseSegmentName(name: string): SegmentRange | null {
  const match = /^segment-(\d{12,15})-(\d{12,15})-([0-9a-f]{64})\.zst$/.exec(name);
  if (match === null) return null;
  const [, first = '', last = '', chain = ''] = match;
  return { first: Number(first), last: Number(last), chain: Uint8Array.fromHex(chain) };
}

/** Maximum characters of a host's name in the name of an object. */
const MAX_HOST = 100;

/**
 * Returns the name of the open part of a host.
 * @param host its name; characters that are not allowed in the name become _
 * @param epoch of its lease; null if the host shares no log
 */
export const openName = (host: string, epoch: number | null): string =>
  `${OPEN_PARTS}${host.replaceAll(/[^\w.-]/g, '_').slice(0, MAX_HOST)}${epoch === null ? '' : `-${epoch}`}.zst`;

export const isOpenName = (name: string): boolean => /^open-[\w.-]+\.zst$/.test(name);

/** Whether a segment of these entries is complete. */
export function isComplete(entries: readonly Entry[], limits: BatchLimits): boolean {
  const bytes = entries.reduce((sum, { text }) => sum + text.length, 0);
  return entries.length >= limits.entries || bytes >= limits.bytes;
}

const Hex = Type.String({ pattern: '^[0-9a-f]{64}$' });
const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

const Header = Type.Object({ format: Type.Literal(FORMAT), first: Id, last: Id, before: Hex, chain: Hex, sha256: Hex });
type Header = Static<typeof Header>;

const EntryLine = Type.Object({
  received_at: Type.Integer(),
  path: Type.String(),
  bytes: Type.Integer({ minimum: 0, maximum: MAX_SEGMENT_BYTES }),
});

/**
 * Returns the content of a segment before compression.
 * @param previousChain the chain value before the first entry
 * @param entries consecutive entries, at least one
 */
export function segmentContent(previousChain: Uint8Array, entries: readonly Entry[]): Buffer {
  const [first, last] = [entries[0], entries.at(-1)];
  if (first === undefined || last === undefined) throw new Error('a segment has an entry');
  const body = Buffer.concat(
    entries.flatMap(({ receivedAt, path, text }) => {
      const bytes = Buffer.from(`${text}\n`);
      return [Buffer.from(`${JSON.stringify({ received_at: receivedAt, path, bytes: bytes.length - 1 })}\n`), bytes];
    }),
  );
  const header: Header = {
    format: FORMAT,
    first: first.id,
    last: last.id,
    before: previousChain.toHex(),
    chain: last.chain.toHex(),
    sha256: hashOfPart(body),
  };
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), body]);
}

/** An object isn't a sound segment. The message has the reason, and the entry if a single entry is at fault. */
export class SegmentError extends Error {
  override readonly name = 'SegmentError';
}

/** A segment that was read, with its entries verified by the chain from the value before them. */
export interface Segment extends SegmentRange {
  previousChain: Uint8Array;
  entries: Entry[];
}

const decompress = promisify(zstdDecompress);

function cannotDecompress(cause: unknown): never {
  throw new SegmentError("it can't be decompressed", { cause });
}

/** Returns the content of an object that a host of this log wrote. @throws SegmentError */
export const decompressSegment = (object: Uint8Array): Promise<Buffer> =>
  decompress(object, { maxOutputLength: MAX_SEGMENT_BYTES }).catch(cannotDecompress);

const wrongChain = (first: number, last: number): SegmentError =>
  new SegmentError(`the chain value of entry ${last} doesn't match entries ${first} to ${last}`);

const LINE_FEED = 0x0a;

/** Maximum bytes of a line before the text of an entry. */
const MAX_LINE_BYTES = 100_000;

class ContentReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(object: Uint8Array) {
    const stream = createZstdDecompress();
    this.#chunks = stream[Symbol.asyncIterator]();
    stream.end(object);
  }

  /** @throws SegmentError at the end of the content, and if it can't be decompressed */
  async #fill(): Promise<void> {
    while (this.#rest.length === 0) {
      const { value, done } = await this.#chunks.next().catch(cannotDecompress);
      if (done === true) throw new SegmentError('it ends within an entry');
      this.#rest = value;
    }
  }

  #take(bytes: number): Buffer {
    const part = this.#rest.subarray(0, bytes);
    this.#rest = this.#rest.subarray(part.length);
    return part;
  }

  async pass(bytes: number, add: (part: Buffer) => void): Promise<void> {
    for (let left = bytes; left > 0; ) {
      await this.#fill();
      const part = this.#take(left);
      add(part);
      left -= part.length;
    }
  }

  /** Returns the JSON of the next line; undefined if it isn't JSON. */
  async line(): Promise<unknown> {
    const parts: Buffer[] = [];
    for (let length = 0; length <= MAX_LINE_BYTES; ) {
      await this.#fill();
      const end = this.#rest.indexOf(LINE_FEED);
      const part = this.#take(end < 0 ? this.#rest.length : end + 1);
      parts.push(part);
      length += part.length;
      if (end >= 0) return parsedJson(strictText(Buffer.concat(parts)) ?? '');
    }
    return undefined;
  }

  /** Ends the decompression. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }
}

/** Bytes of the text of a withheld entry. */
const WITHHELD_BYTES = 128;

/** @param value JSON of the first line; undefined if it has none @throws SegmentError */
function requireHeader(value: unknown): Header {
  const { format } = Object(value);
  if (typeof format === 'number' && format > FORMAT) {
    throw new SegmentError(`it has format ${format}, but this version reads formats up to ${FORMAT}`);
  }
  if (!Value.Check(Header, value)) throw new SegmentError("its first line isn't a header");
  return value;
}

/** Reads the text of an entry, without all of it in memory. @returns the head at the entry */
async function headAtEntry(reader: ContentReader, head: Head): Promise<Head> {
  const line = await reader.line();
  if (!Value.Check(EntryLine, line)) throw new SegmentError(`the header of entry ${head.id + 1} is missing or invalid`);
  const { received_at: receivedAt, path, bytes } = line;
  const isWithheld = path === WITHHELD_PATH && bytes === WITHHELD_BYTES;
  const hasher = new Bun.CryptoHasher('sha256');
  let text = '';
  await reader.pass(bytes, (part) => {
    hasher.update(part);
    if (isWithheld) text += part.toString();
  });
  await reader.pass(1, () => {});
  const event = { receivedAt, path, text };
  const hash = new Uint8Array(hasher.digest());
  return headAfter(head, event, isWithheld ? undefined : { compressed: new Uint8Array(), hash });
}

/**
 * Verifies by its chain value that a large segment has the entries of its name, without all of its content in memory.
 * @throws SegmentError
 */
async function requireChain(object: Uint8Array, { first, last, chain }: SegmentRange): Promise<void> {
  const reader = new ContentReader(object);
  try {
    const { before } = requireHeader(await reader.line());
    let head: Head = { id: first - 1, chain: Uint8Array.fromHex(before) };
    while (head.id < last) head = await headAtEntry(reader, head);
    if (!sameChain(head.chain, chain)) throw wrongChain(first, last);
  } finally {
    await reader.close();
  }
}

/**
 * Returns the content of an object that may be a forgery.
 * @param range the range in its name; null for an open part
 * @throws SegmentError
 */
async function safeContent(object: Uint8Array, range: SegmentRange | null): Promise<Buffer> {
  try {
    return await decompress(object, { maxOutputLength: MAX_UNVERIFIED_BYTES });
  } catch (error) {
    if (!hasCode(error, 'ERR_BUFFER_TOO_LARGE')) return cannotDecompress(error);
  }
  if (range === null) throw new SegmentError(`it has more than ${MAX_UNVERIFIED_BYTES} bytes`);
  await requireChain(object, range);
  return decompressSegment(object);
}

/** Returns the JSON of the line at an offset, and the offset of the next line; undefined if there is no line of JSON. */
function lineAt(content: Buffer, offset: number): { value: unknown; next: number } | undefined {
  const end = content.indexOf(LINE_FEED, offset);
  if (end < 0) return undefined;
  const value = parsedJson(strictText(content.subarray(offset, end)) ?? '');
  return value === undefined ? undefined : { value, next: end + 1 };
}

function parseHeader(content: Buffer): { header: Header; body: Buffer } {
  const line = lineAt(content, 0);
  const header = requireHeader(line?.value);
  const body = content.subarray(line?.next);
  if (hashOfPart(body) !== header.sha256) throw new SegmentError('its checksum is wrong');
  return { header, body };
}

/** Yields the entries of a body. @throws SegmentError that names an entry */
function* parseEntries(body: Buffer, { first, last, before }: Header): Generator<Entry> {
  let chain: Uint8Array = Uint8Array.fromHex(before);
  let offset = 0;
  for (let id = first; offset < body.length; id++) {
    if (id > last) throw new SegmentError(`it continues after entry ${last}, the last one that it names`);
    const line = lineAt(body, offset);
    if (line === undefined || !Value.Check(EntryLine, line.value))
      throw new SegmentError(`the header of entry ${id} is missing or invalid`);
    const { received_at: receivedAt, path, bytes } = line.value;
    const end = line.next + bytes;
    if (body[end] !== LINE_FEED)
      throw new SegmentError(`the text of entry ${id} has a different length than its header states`);
    const textBytes = body.subarray(line.next, end);
    const text = strictText(textBytes);
    if (text === null) throw new SegmentError(`the text of entry ${id} is not UTF-8`);
    chain = nextChain(chain, { id, receivedAt, path, text: textBytes });
    yield { id, receivedAt, path, text, chain };
    offset = end + 1;
  }
}

/**
 * Reads a segment and verifies that it is consistent: its entries match its first line, and their chain values lead from start
 * to end. The caller checks whether the segment follows the one before it.
 * @param range the range in its name; null for an open part
 * @throws SegmentError
 */
export async function readSegment(object: Uint8Array, range: SegmentRange | null): Promise<Segment> {
  const { header, body } = parseHeader(await safeContent(object, range));
  const { first, last } = header;
  const chain = Uint8Array.fromHex(header.chain);
  if (range !== null && (range.first !== first || range.last !== last || !sameChain(range.chain, chain))) {
    throw new SegmentError(`it contains entries ${first} to ${last}, which doesn't match its name`);
  }
  const entries = [...parseEntries(body, header)];
  const end = entries.at(-1);
  if (end?.id !== last) throw new SegmentError(`it ends before entry ${last}, the last one that it names`);
  if (!sameChain(end.chain, chain)) throw wrongChain(first, last);
  return { first, last, previousChain: Uint8Array.fromHex(header.before), chain, entries };
}
