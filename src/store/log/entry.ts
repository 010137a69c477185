/**
 * An entry of the log, and the chain value that proves it.
 *
 *     chain(0) = 32 zero bytes
 *     chain(n) = SHA-256(chain(n - 1) || n || received_at || SHA-256(path) || SHA-256(text))
 *
 * `n` is unsigned, `received_at` (Unix microseconds) is signed; each is 8 bytes, big-endian. Path and text are UTF-8, the text
 * as the node sent it, before compression. The values contain nothing random: hosts that accept the same events in the same
 * order with the same times compute the same values.
 *
 * An entry can be withheld, such as a command in a published journal. Then its path is empty, and its text is
 *
 *     hex(SHA-256(path)) || hex(SHA-256(text))
 *
 * in lower case. Its number, time and chain value are unchanged, so that it and all later entries are proven as before. It is
 * skipped when entries are applied. A withheld entry has this form everywhere: in the file, in the shared log, and between
 * servers.
 */

import { SHA256, zstdCompressSync, zstdDecompressSync } from 'bun';
import { bytesEqual } from '../../base/bytes-equal.ts';
import { memoize } from '../../base/cache.ts';
import { WITHHELD_PATH } from '../../chain/payload-reader.ts';
import { lossyText } from '../../codec/utf8.ts';

/** An event or command as it was received. */
export interface Entry {
  id: number;
  /** Unix microseconds. */
  receivedAt: number;
  /** The path that the node posted to, such as `/new_block`; empty if it is withheld. */
  path: string;
  /** The body, JSON text; the hashes of a withheld entry. */
  text: string;
  /** Chain value of the entry. */
  chain: Uint8Array;
}

/**
 * The number and chain value of a last entry: of a log, or of the entries that an index has applied. Together they identify
 * all entries up to it. Without entries, it is number 0 with {@link CHAIN_START}.
 */
export interface Head {
  id: number;
  chain: Uint8Array;
}

/** Entries of a log in order. */
export interface EntrySource {
  /** The entries after one, oldest first. @throws OperatorError at an entry that is missing or damaged */
  after(id: number): Iterable<Entry>;
  /** The newest entry. */
  head(): Head;
}

/** Maximum size of a batch of entries. */
export interface BatchLimits {
  entries: number;
  /** Bytes of texts after which the batch ends. */
  bytes: number;
}

/** Yields the first entries up to a maximum size; at least one entry, if there is one. */
export function* firstEntries(entries: Iterable<Entry>, maximum: BatchLimits): Generator<Entry> {
  let [count, bytes] = [0, 0];
  for (const entry of entries) {
    yield entry;
    count += 1;
    bytes += entry.text.length;
    if (count >= maximum.entries || bytes >= maximum.bytes) return;
  }
}

/** The value before the first entry. */
export const CHAIN_START = new Uint8Array(32);

/** The head before the first entry. */
export const LOG_START: Head = { id: 0, chain: CHAIN_START };

/** Bytes of a chain value. */
export const HASH_BYTES = 32;
const NUMBER_BYTES = 8;
/** Offsets of the hashed parts. */
const AT_ID = HASH_BYTES;
const AT_TIME = AT_ID + NUMBER_BYTES;
const AT_PATH = AT_TIME + NUMBER_BYTES;
const AT_TEXT = AT_PATH + HASH_BYTES;

/** @param text or its UTF-8 bytes, which have the same hash */
const hashOf = (text: string | Uint8Array): Uint8Array => SHA256.hash(text) as Uint8Array;

/** Number of cached hashes of paths. Nodes use few paths; a peer may send any. */
const MAX_PATHS = 100;
const hashOfPath = memoize((path: string) => hashOf(path), MAX_PATHS);

/** The hashes of path and text in hex, concatenated. */
const WITHHELD = /^[0-9a-f]{128}$/;

/** The hashes of the path and of the text of an entry. @param text or its UTF-8 bytes */
function hashesOf(path: string, text: string | Uint8Array): [path: Uint8Array, text: Uint8Array] {
  const hex = path === WITHHELD_PATH ? (typeof text === 'string' ? text : lossyText(text)) : '';
  if (!WITHHELD.test(hex)) return [hashOfPath(path), hashOf(text)];
  const hashes = Uint8Array.fromHex(hex);
  return [hashes.subarray(0, HASH_BYTES), hashes.subarray(HASH_BYTES)];
}

/** Returns the chain value of the next entry. @param entry with its text, or the text's UTF-8 bytes */
export function nextChain(
  previous: Uint8Array,
  { id, receivedAt, path, text }: Omit<Entry, 'chain' | 'text'> & { text: string | Uint8Array },
): Uint8Array {
  return hashChain(previous, id, receivedAt, hashesOf(path, text));
}

function hashChain(
  previous: Uint8Array,
  id: number,
  receivedAt: number,
  [ofPath, ofText]: readonly [path: Uint8Array, text: Uint8Array],
): Uint8Array {
  const bytes = Buffer.alloc(AT_TEXT + HASH_BYTES);
  bytes.set(previous);
  bytes.writeBigUInt64BE(BigInt(id), AT_ID);
  bytes.writeBigInt64BE(BigInt(receivedAt), AT_TIME);
  bytes.set(ofPath, AT_PATH);
  bytes.set(ofText, AT_TEXT);
  return hashOf(bytes);
}

/** The text of an entry that isn't withheld, compressed and hashed before it is appended. */
export interface PackedText {
  compressed: Uint8Array;
  /** SHA-256 of its UTF-8. */
  hash: Uint8Array;
}

export const packed = (text: string): PackedText => ({ compressed: compressed(text), hash: hashOf(text) });

/** The head after one more event. @param text its packed text, if there is one */
export function headAfter(
  { id: last, chain }: Head,
  event: Pick<Entry, 'receivedAt' | 'path' | 'text'>,
  text?: PackedText,
): Head {
  const id = last + 1;
  if (text === undefined) return { id, chain: nextChain(chain, { ...event, id }) };
  return { id, chain: hashChain(chain, id, event.receivedAt, [hashOfPath(event.path), text.hash]) };
}

/** An entry with its path and text withheld; an entry that is withheld already is unchanged. */
export function withheld(entry: Entry): Entry {
  const [path, text] = hashesOf(entry.path, entry.text);
  return { ...entry, path: WITHHELD_PATH, text: path.toHex() + text.toHex() };
}

/** Whether two chain values are the same. */
export const sameChain = bytesEqual;

/** A low level, because the journal is written on the hot path and read rarely. */
const COMPRESSION_LEVEL = 1;

export const compressed = (text: string | Uint8Array): Uint8Array =>
  zstdCompressSync(text, { level: COMPRESSION_LEVEL });
export const decompressed = (bytes: Uint8Array): string => lossyText(zstdDecompressSync(bytes));
