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
import { zstdDecompress } from 'node:zlib';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { parsedJson } from '../base/json.ts';
import { strictText } from '../codec/utf8.ts';
import { hashOfPart } from '../storage/object-store.ts';
import { type BatchLimits, type Entry, type Head, LOG_START, nextChain, sameChain } from '../store/log/entry.ts';

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

/** Returns the content of an object. @throws SegmentError */
export const decompressSegment = (object: Uint8Array): Promise<Buffer> =>
  decompress(object, { maxOutputLength: MAX_SEGMENT_BYTES }).catch((cause: unknown) => {
    throw new SegmentError("it can't be decompressed", { cause });
  });

const LINE_FEED = 0x0a;

/** Returns the JSON of the line at an offset, and the offset of the next line; undefined if there is no line of JSON. */
function lineAt(content: Buffer, offset: number): { value: unknown; next: number } | undefined {
  const end = content.indexOf(LINE_FEED, offset);
  if (end < 0) return undefined;
  const value = parsedJson(strictText(content.subarray(offset, end)) ?? '');
  return value === undefined ? undefined : { value, next: end + 1 };
}

function parseHeader(content: Buffer): { header: Header; body: Buffer } {
  const line = lineAt(content, 0);
  const format = Object(line?.value).format;
  if (typeof format === 'number' && format > FORMAT) {
    throw new SegmentError(`it has format ${format}, but this version reads formats up to ${FORMAT}`);
  }
  if (line === undefined || !Value.Check(Header, line.value)) throw new SegmentError("its first line isn't a header");
  const body = content.subarray(line.next);
  if (hashOfPart(body) !== line.value.sha256) throw new SegmentError('its checksum is wrong');
  return { header: line.value, body };
}

/** Yields the entries of a body. @throws SegmentError that names an entry */
function* parseEntries(body: Buffer, { first, before }: Header): Generator<Entry> {
  let chain: Uint8Array = Uint8Array.fromHex(before);
  let offset = 0;
  for (let id = first; offset < body.length; id++) {
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
  const { header, body } = parseHeader(await decompressSegment(object));
  const { first, last } = header;
  const chain = Uint8Array.fromHex(header.chain);
  if (range !== null && (range.first !== first || range.last !== last || !sameChain(range.chain, chain))) {
    throw new SegmentError(`it contains entries ${first} to ${last}, which doesn't match its name`);
  }
  const entries = [...parseEntries(body, header)];
  const end = entries.at(-1);
  if (end?.id !== last) throw new SegmentError(`it ends before entry ${last}, the last one that it names`);
  if (!sameChain(end.chain, chain)) {
    throw new SegmentError(`the chain value of entry ${last} doesn't match entries ${first} to ${last}`);
  }
  return { first, last, previousChain: Uint8Array.fromHex(header.before), chain, entries };
}
