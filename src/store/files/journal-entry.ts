/**
 * One entry of the journal, and the chain value that proves it.
 *
 *     chain(0) = 32 zero bytes
 *     chain(n) = SHA-256(chain(n - 1) || n || received_at || SHA-256(path) || SHA-256(text))
 *
 * `n` is unsigned, `received_at` (Unix microseconds) is signed; each is 8 bytes, big-endian. Path and text are UTF-8, the text
 * as the node sent it, before compression. Nothing in it is random: whoever takes the same events in the same order at the
 * same times comes to the same values.
 *
 * An entry can be withheld, as that of a command where a journal is published. Then it has no path, and its text is
 *
 *     hex(SHA-256(path)) || hex(SHA-256(text))
 *
 * in lower case. Its number, its time and its chain value stay, so that it and all that follow are proven as before. Whoever
 * applies entries passes over it. A withheld entry has this form wherever entries go: in the file, in the shared log, and
 * from server to server.
 */
import { SHA256, zstdCompressSync, zstdDecompressSync } from 'bun';
import { OperatorError } from '../../base/errors.ts';
import { discard } from '../../base/garbage.ts';
import { WITHHELD_PATH } from '../../chain/payload-reader.ts';

/** One event as it was received. */
export interface JournalEntry {
  id: number;
  /** Unix microseconds. */
  receivedAt: number;
  /** Where the node posted it, such as `/new_block`; empty where it is withheld. */
  path: string;
  /** The body: JSON text; of a withheld entry its hashes. */
  text: string;
  /** Chain value of the entry. */
  chain: Uint8Array;
}

/** How much of a journal is taken at a time. */
export interface MostEntries {
  entries: number;
  /** Bytes of texts after which no more entries are taken. */
  bytes: number;
}

/** The first of some entries; one at least, whatever its size, if there is one. */
export function* firstEntries(entries: Iterable<JournalEntry>, most: MostEntries): Generator<JournalEntry> {
  let [count, bytes] = [0, 0];
  for (const entry of entries) {
    yield entry;
    count += 1;
    bytes += entry.text.length;
    if (count >= most.entries || bytes >= most.bytes) return;
  }
}

const REMEDY = 'Restore the journal from a backup. stackside check names what else is damaged.';

/** What the journal's file held isn't known: pages can't be read, or entries are missing of which it doesn't know. */
export class JournalDamagedError extends OperatorError {
  /** @param what is damaged, as a sentence without its end */
  constructor(file: string, what = 'some of its pages can not be read', options?: ErrorOptions) {
    super(`${file} is damaged: ${what}.`, REMEDY, options);
  }
}

/** An entry that is missing or isn't what was written. It is never applied, exported or served. */
export class JournalEntryError extends OperatorError {
  constructor(
    file: string,
    /** Id of the entry. */
    readonly id: number,
    /** What is wrong, as the end of a sentence that begins with the entry. */
    readonly fault: string,
    options?: ErrorOptions,
  ) {
    super(`Entry ${id} of ${file} ${fault}.`, REMEDY, options);
  }
}

/** The value before the first entry. */
export const CHAIN_START = new Uint8Array(32);

// A byte order mark is a part of the text.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

const HASH_BYTES = 32;
const NUMBER_BYTES = 8;
/** Where the parts of what is hashed begin. */
const AT_ID = HASH_BYTES;
const AT_TIME = AT_ID + NUMBER_BYTES;
const AT_PATH = AT_TIME + NUMBER_BYTES;
const AT_TEXT = AT_PATH + HASH_BYTES;

/** @param text or its UTF-8 bytes: the same to the hasher, which needs no copy of a text */
const hashOf = (text: string | Uint8Array): Uint8Array => SHA256.hash(text) as Uint8Array;

/** The hashes of the paths of events, of which there are few; not of all that a peer may send. */
const pathHashes = new Map<string, Uint8Array>();
const MOST_PATHS = 100;

function hashOfPath(path: string): Uint8Array {
  const known = pathHashes.get(path);
  if (known !== undefined) return known;
  const hash = hashOf(path);
  if (pathHashes.size < MOST_PATHS) pathHashes.set(path, hash);
  return hash;
}

/** The hashes of path and text in hex, one behind the other. */
const WITHHELD = /^[0-9a-f]{128}$/;

/** The hashes of the path and of the text of an entry. @param text or its UTF-8 bytes */
function hashesOf(path: string, text: string | Uint8Array): [path: Uint8Array, text: Uint8Array] {
  const hex = path === WITHHELD_PATH ? (typeof text === 'string' ? text : decoder.decode(text)) : '';
  if (!WITHHELD.test(hex)) return [hashOfPath(path), hashOf(text)];
  const hashes = Uint8Array.fromHex(hex);
  return [hashes.subarray(0, HASH_BYTES), hashes.subarray(HASH_BYTES)];
}

function chainValue(
  previous: Uint8Array,
  id: number,
  receivedAt: number,
  [path, text]: readonly [path: Uint8Array, text: Uint8Array],
): Uint8Array {
  const bytes = Buffer.alloc(AT_TEXT + HASH_BYTES);
  bytes.set(previous);
  bytes.writeBigUInt64BE(BigInt(id), AT_ID);
  bytes.writeBigInt64BE(BigInt(receivedAt), AT_TIME);
  bytes.set(path, AT_PATH);
  bytes.set(text, AT_TEXT);
  return hashOf(bytes);
}

/** The chain value of the event that follows the one with the value `previous` as entry `id`. */
export const nextChain = (
  previous: Uint8Array,
  { id, receivedAt, path, text }: Omit<JournalEntry, 'chain'>,
): Uint8Array => chainValue(previous, id, receivedAt, hashesOf(path, text));

/** An entry as it stands where its path and its text are withheld; one that is withheld already stays what it is. */
export function withheld(entry: JournalEntry): JournalEntry {
  const [path, text] = hashesOf(entry.path, entry.text);
  return { ...entry, path: WITHHELD_PATH, text: path.toHex() + text.toHex() };
}

export const sameChain = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

/** Low level: the journal is written on the hot path and read rarely. */
const COMPRESSION_LEVEL = 1;

export const compressed = (text: string | Uint8Array): Uint8Array =>
  zstdCompressSync(text, { level: COMPRESSION_LEVEL });
export const decompressed = (bytes: Uint8Array): string => decoder.decode(zstdDecompressSync(bytes));

/** An entry as the journal's file holds it. */
export interface EntryRow {
  id: number;
  received_at: number;
  path: string;
  payload: Uint8Array;
  /** Null where the file lacks it. */
  chain: Uint8Array | null;
  /** Chain value of what comes before it; null where the file lacks it. */
  previous: Uint8Array | null;
}

function checked(file: string, row: EntryRow): EntryRow & { previous: Uint8Array } {
  const { id, received_at, path, payload, previous } = row;
  if (previous === null) throw new JournalEntryError(file, id - 1, 'is missing');
  if (previous.length !== HASH_BYTES)
    throw new JournalEntryError(file, id - 1, 'is damaged: its chain value is another');
  // A damaged file may hold anything in a column.
  if (!Number.isSafeInteger(received_at) || typeof path !== 'string' || !(payload instanceof Uint8Array)) {
    throw new JournalEntryError(file, id, 'is damaged: a column holds another type');
  }
  return { ...row, previous };
}

function unpacked(file: string, { id, payload }: EntryRow): Uint8Array {
  try {
    return zstdDecompressSync(payload);
  } catch (cause) {
    // Whatever is wrong, it is the bytes.
    throw new JournalEntryError(file, id, 'is damaged: its payload can not be decompressed', { cause });
  }
}

/** The text of a row, whose chain value is not looked at. @throws JournalEntryError */
export const textOfRow = (file: string, row: EntryRow): string => decoder.decode(unpacked(file, checked(file, row)));

/** @param file names the journal in errors @throws JournalEntryError where the row is not what was written */
export function entryOfRow(file: string, row: EntryRow): JournalEntry {
  const { id, received_at, path, previous, chain } = checked(file, row);
  const bytes = unpacked(file, row);
  if (chain === null || !sameChain(chainValue(previous, id, received_at, hashesOf(path, bytes)), chain)) {
    throw new JournalEntryError(file, id, 'is damaged: its chain value is another');
  }
  const text = decoder.decode(bytes);
  discard(bytes);
  return { id, receivedAt: received_at, path, text, chain };
}
