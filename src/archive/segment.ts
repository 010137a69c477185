/**
 * A segment: consecutive entries of the log in one object of an archive.
 *
 *     segment-<first entry>-<last entry>-<chain value of the last>.zst     sealed: it never changes
 *     open-<host>.zst, open-<host>-<lease>.zst                             the entries after the last sealed segment
 *
 * The content, before zstd, is text: a line of JSON about the segment, then for each entry a line of JSON and the text.
 *
 *     {"format":1,"first":1,"last":2,"before":"<hex>","chain":"<hex>","sha256":"<hex>"}
 *     {"received_at":1760000000000000,"path":"/new_block","bytes":20}
 *     {"block_height": 1 }
 *
 * `before` is the chain value before the first entry, `chain` that of the last, `sha256` the hash of all that follows the first
 * line, `bytes` the length of a text, which ends with a line feed of its own. Entries are as the log has them: secrets in commands
 * stay sealed, and a withheld entry has an empty path and its two hashes for a text (`store/log/entry.ts`).
 *
 * Where a segment ends depends on the log alone, so that all hosts of a log make the same segments.
 */
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { parsedJson } from '../base/json.ts';
import { strictText } from '../codec/utf8.ts';
import { compressedPart, hashOfPart } from '../places/files.ts';
import { type Entry, type MostEntries, nextChain, sameChain } from '../store/log/entry.ts';

/** Version of the format of segments, and of the archive. */
export const FORMAT = 1;

/**
 * Where a segment ends: with the entry that reaches either bound. The bytes bound what is sent again every few seconds while the
 * segment is open, and the memory of those who read it; some 600 KB remain of them once compressed. The entries bound a segment of
 * small ones, such as those of the mempool. Another bound is another format.
 */
export const SEGMENT: MostEntries = { entries: 4_000, bytes: 4_000_000 };

/** Maximum bytes of a segment before and after compression: an entry may be a whole genesis block, and is never divided. */
export const MAX_SEGMENT_BYTES = 1_000_000_000;

/** The entries of a segment by their numbers, with the chain value of the last. */
export interface SegmentRange {
  first: number;
  last: number;
  chain: Uint8Array;
}

/** How the names of sealed segments and open parts begin. */
export const SEGMENTS = 'segment-';
export const OPEN_PARTS = 'open-';

/** Digits of an entry's number in a name, so that names are in the order of entries. */
const DIGITS = 12;
const digits = (id: number): string => String(id).padStart(DIGITS, '0');

/** How the names of all sealed segments begin that begin with an entry. */
export const segmentBeginning = (first: number): string => `${SEGMENTS}${digits(first)}-`;

export const segmentName = ({ first, last, chain }: SegmentRange): string =>
  `${segmentBeginning(first)}${digits(last)}-${chain.toHex()}.zst`;

/** The range that a name of a sealed segment tells; null for any other name. */
export function rangeOfName(name: string): SegmentRange | null {
  const match = /^segment-(\d{12,15})-(\d{12,15})-([0-9a-f]{64})\.zst$/.exec(name);
  if (match === null) return null;
  const [, first = '', last = '', chain = ''] = match;
  return { first: Number(first), last: Number(last), chain: Uint8Array.fromHex(chain) };
}

/** Maximum characters of a host's name in the name of an object. */
const MAX_HOST = 100;

/**
 * Name of the open part of a host.
 * @param host its name; other characters than those of host names become _
 * @param epoch of its lease; null on a host that shares no log
 */
export const openName = (host: string, epoch: number | null): string =>
  `${OPEN_PARTS}${host.replaceAll(/[^\w.-]/g, '_').slice(0, MAX_HOST)}${epoch === null ? '' : `-${epoch}`}.zst`;

export const isOpenName = (name: string): boolean => /^open-[\w.-]+\.zst$/.test(name);

/** Whether a segment of these entries is complete. */
export function isComplete(entries: readonly Entry[], most: MostEntries): boolean {
  const bytes = entries.reduce((sum, { text }) => sum + text.length, 0);
  return entries.length >= most.entries || bytes >= most.bytes;
}

const Hex = Type.String({ pattern: '^[0-9a-f]{64}$' });
const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

const Header = Type.Object({
  format: Type.Literal(FORMAT),
  first: Id,
  last: Id,
  before: Hex,
  chain: Hex,
  sha256: Hex,
});
type Header = Static<typeof Header>;

const EntryLine = Type.Object({
  received_at: Type.Integer(),
  path: Type.String(),
  bytes: Type.Integer({ minimum: 0, maximum: MAX_SEGMENT_BYTES }),
});

/**
 * The content of a segment before compression.
 * @param before the chain value before the first entry
 * @param entries consecutive ones, at least one
 */
export function segmentContent(before: Uint8Array, entries: readonly Entry[]): Buffer {
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
    before: before.toHex(),
    chain: last.chain.toHex(),
    sha256: hashOfPart(body),
  };
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), body]);
}

/** The bytes of an object with a segment's content. */
export const packedSegment = compressedPart;

/** An object is no sound segment. Its message says why, and names the entry where one is at fault. */
export class SegmentError extends Error {
  override readonly name = 'SegmentError';
}

/** A segment that was read, with its entries verified by the chain from the value before them. */
export interface Segment extends SegmentRange {
  before: Uint8Array;
  entries: Entry[];
}

const decompress = promisify(zstdDecompress);

/** The content of an object. @throws SegmentError */
export const segmentContentOf = (object: Uint8Array): Promise<Buffer> =>
  decompress(object, { maxOutputLength: MAX_SEGMENT_BYTES }).catch((cause: unknown) => {
    throw new SegmentError("it can't be decompressed", { cause });
  });

const LINE_FEED = 0x0a;

/** The JSON of the line at an offset, and where the next line begins; undefined where there is no line of JSON. */
function lineAt(content: Buffer, offset: number): { value: unknown; next: number } | undefined {
  const end = content.indexOf(LINE_FEED, offset);
  if (end < 0) return undefined;
  const value = parsedJson(strictText(content.subarray(offset, end)) ?? '');
  return value === undefined ? undefined : { value, next: end + 1 };
}

function headerOf(content: Buffer): { header: Header; body: Buffer } {
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

/** The entries of a body. @throws SegmentError that names an entry */
function* entriesOf(body: Buffer, { first, before }: Header): Generator<Entry> {
  let chain: Uint8Array = Uint8Array.fromHex(before);
  let offset = 0;
  for (let id = first; offset < body.length; id++) {
    const line = lineAt(body, offset);
    if (line === undefined || !Value.Check(EntryLine, line.value))
      throw new SegmentError(`the header of entry ${id} is missing or invalid`);
    const { received_at: receivedAt, path, bytes } = line.value;
    const end = line.next + bytes;
    if (body[end] !== LINE_FEED) throw new SegmentError(`the text of entry ${id} has another length than its header`);
    const encoded = body.subarray(line.next, end);
    const text = strictText(encoded);
    if (text === null) throw new SegmentError(`the text of entry ${id} is not UTF-8`);
    chain = nextChain(chain, { id, receivedAt, path, text: encoded });
    yield { id, receivedAt, path, text, chain };
    offset = end + 1;
  }
}

/**
 * Reads a segment, and verifies it in itself: the entries are those of its first line, and its chain values lead from one end to
 * the other. Whether it follows another is for the caller to see.
 * @param named the range that its name tells; null for an open part
 * @throws SegmentError
 */
export async function readSegment(object: Uint8Array, named: SegmentRange | null): Promise<Segment> {
  const { header, body } = headerOf(await segmentContentOf(object));
  const { first, last } = header;
  const chain = Uint8Array.fromHex(header.chain);
  if (named !== null && (named.first !== first || named.last !== last || !sameChain(named.chain, chain))) {
    throw new SegmentError(`it contains entries ${first} to ${last}, which doesn't match its name`);
  }
  const entries = [...entriesOf(body, header)];
  const end = entries.at(-1);
  if (end?.id !== last) throw new SegmentError(`it ends before entry ${last}, the last one that it names`);
  if (!sameChain(end.chain, chain)) {
    throw new SegmentError(`the chain value of entry ${last} doesn't match entries ${first} to ${last}`);
  }
  return { first, last, before: Uint8Array.fromHex(header.before), chain, entries };
}
