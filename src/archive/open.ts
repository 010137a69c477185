/**
 * Opens the archive at a location for reading, with the key that its reader trusts. A public archive is read by its signed
 * head, so it may be at any place that returns objects by name, such as a static web server without listings.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Clock } from '../base/clock.ts';
import { withoutCredentials } from '../base/credentials.ts';
import { OperatorError, TemporaryError } from '../base/errors.ts';
import { writeWhole } from '../base/files.ts';
import { duration } from '../base/format.ts';
import { parsedJson } from '../base/json.ts';
import { onFile } from '../base/system-errors.ts';
import { isLoopback, parseAddress } from '../http/hosts.ts';
import { objectStoreAt, schemeOf, withoutName } from '../storage/location.ts';
import { compressPart, hashOfPart, type ObjectSource, type ObjectStoreReads } from '../storage/object-store.ts';
import { webSource } from '../storage/remote.ts';
import type { SizeBounds } from '../storage/transfer.ts';
import { FILE_MODE, makePrivateDirectory } from '../store/files/private-files.ts';
import { sameChain } from '../store/log/entry.ts';
import { ArchiveDamagedError, Identity, identityBytes, readIdentity, requireIdentity } from './archive.ts';
import { IDENTITY } from './archive-directory.ts';
import { type ArchiveHead, ArchiveUntrustedError, HEAD, readHead } from './head.ts';
import { parseSegmentName, readSegment, SegmentError, segmentContent } from './segment.ts';

const SeenArchive = Type.Object({
  location: Type.String(),
  archive: Identity,
  /** Number of the newest entry seen, and its chain value in hex. */
  entry: Type.Integer({ minimum: 0 }),
  chain: Type.String({ pattern: '^[0-9a-f]{64}$' }),
});
/** An archive as it was last seen. */
export type SeenArchive = Static<typeof SeenArchive>;

/** Path of the file in a data directory with the archive as it was last seen. */
const seenArchivePath = (directory: string): string => join(directory, 'from.json');

/** Reads the archive as it was last seen; null if its file is missing or invalid. @throws OperatorError if the file can't be read */
export function loadSeenArchive(directory: string): SeenArchive | null {
  const path = seenArchivePath(directory);
  const text = onFile(path, () => (existsSync(path) ? readFileSync(path, 'utf8') : ''));
  const value = parsedJson(text);
  return Value.Check(SeenArchive, value) ? value : null;
}

/** Stores an archive as it was seen now. @throws OperatorError if its file can't be written */
export function saveSeenArchive(directory: string, archive: SeenArchive): void {
  onFile(directory, () => makePrivateDirectory(directory));
  writeWhole(seenArchivePath(directory), `${JSON.stringify(archive)}\n`, FILE_MODE);
}

type SeenHead = Pick<ArchiveHead, 'archive' | 'entry' | 'chain'>;

/** @throws TemporaryError if a head is older than the seen head; ArchiveUntrustedError if it contradicts the seen head */
function requireNotOlder(location: string, head: ArchiveHead, seen: SeenHead | null): void {
  if (seen === null || seen.archive.identity !== head.archive.identity) return;
  if (head.entry < seen.entry) {
    throw new TemporaryError(
      `${HEAD} of the archive at ${location} ends with entry ${head.entry}, but an earlier version had entry ${seen.entry}.`,
      'The mirror is older than before: run the command again later, or give another mirror of the same archive.',
    );
  }
  if (head.entry > seen.entry || head.chain === seen.chain) return;
  throw new ArchiveUntrustedError(
    `${HEAD} of the archive at ${location} has another entry ${head.entry} than an earlier version of it.`,
    'The operator signed two different logs. Find out which one is right, or restore into an empty directory.',
  );
}

interface SignedArchiveOptions {
  source: ObjectSource;
  /** The public key that the reader trusts; null to read the archive without verifying its signature. */
  key: string | null;
  /** The newest head that was seen before; null if none was. */
  seen: SeenHead | null;
  /** Called with each head that is read. */
  saw: (head: ArchiveHead) => void;
  /** Called if the open part is missing or doesn't match the head, with its name and the last missing entry. */
  lacks: (name: string, entry: number) => void;
}

/**
 * Reads an archive by its head: lists only objects that the head names, and reads only entries of the open part that it proves.
 * @throws (each function) as {@link readHead}; TemporaryError
 */
export function signedArchive({ source, key, saw, lacks, ...options }: SignedArchiveOptions): ObjectStoreReads {
  let { seen } = options;
  let current: ArchiveHead | null = null;
  /** The last entry that was reported as missing; 0 if there is none. */
  let reportedEntry = 0;

  async function readNewestHead(): Promise<ArchiveHead> {
    const head = await readHead(source, key);
    if (head === null) {
      throw new ArchiveUntrustedError(
        `No public archive found at ${source.location}: ${HEAD} is missing.`,
        'Check the location. stackside serve --archive-public creates public archives.',
      );
    }
    requireNotOlder(source.location, head, seen);
    seen = head;
    current = head;
    saw(head);
    return head;
  }

  async function readOpenPart(head: ArchiveHead, name: string, bounds: SizeBounds): Promise<Uint8Array | null> {
    const bytes = await source.read(name, bounds);
    const part = bytes === null ? null : await keepProven(bytes, head);
    if (part === null && reportedEntry !== head.entry) lacks(name, head.entry);
    reportedEntry = part === null ? head.entry : 0;
    return part;
  }

  /** @throws ArchiveDamagedError if it is not the object that was signed */
  async function readSignedBase(
    { name, sha256 }: NonNullable<ArchiveHead['base']>,
    bounds: SizeBounds,
  ): Promise<Uint8Array | null> {
    const bytes = await source.read(name, bounds);
    if (bytes === null || hashOfPart(bytes) === sha256) return bytes;
    throw new ArchiveDamagedError(source, `${name} is not the base that was signed`);
  }

  return {
    location: source.location,
    listsAtOnce: true,
    async list(prefix) {
      const { base, segments, open } = await readNewestHead();
      return [IDENTITY, ...(base === null ? [] : [base.name]), ...segments, ...(open === null ? [] : [open])]
        .filter((name) => name.startsWith(prefix))
        .sort();
    },
    async read(name, bounds) {
      const head = current ?? (await readNewestHead());
      if (name === IDENTITY) return identityBytes(head.archive);
      if (name === head.base?.name) return readSignedBase(head.base, bounds);
      return name === head.open ? readOpenPart(head, name, bounds) : source.read(name, bounds);
    },
  };
}

/** Returns the entries of the open part that the head proves. @returns null if the object doesn't match the head */
async function keepProven(object: Uint8Array, { segments, entry, chain }: ArchiveHead): Promise<Uint8Array | null> {
  try {
    const { first, previousChain, entries } = await readSegment(object, null);
    const proven = entries.slice(0, Math.max(0, entry - first + 1));
    const end = proven.at(-1);
    const sealed = parseSegmentName(segments.at(-1) ?? '')?.last ?? 0;
    if (first !== sealed + 1 || end?.id !== entry || !sameChain(end.chain, Uint8Array.fromHex(chain))) return null;
    return await compressPart(segmentContent(previousChain, proven));
  } catch (error) {
    if (error instanceof SegmentError) return null;
    throw error;
  }
}

export interface Trust {
  /** The public key of its signer, as `ed25519:…`; null for none. */
  archivePublicKey: string | null;
  /** Whether to read the archive without a key that verifies it. */
  archiveUnsigned: boolean;
}

export interface OpenArchiveOptions extends Pick<SignedArchiveOptions, 'lacks'> {
  location: string;
  /** Data directory, which stores the newest head it saw and must not contain the archive; null if there is none. */
  directory: string | null;
  /** Whether to write nothing to the data directory (default: false). */
  isReadOnly?: boolean;
  trust: Trust;
  clock: Clock;
}

/** Warning about an archive that no key verifies. */
export const UNSIGNED =
  'This archive is not verified: anyone who controls its server or the connection may have invented blocks and balances.';

/** Whether a location is a URL of a web server. */
export const isWeb = (location: string): boolean => ['http', 'https'].includes(schemeOf(location) ?? '');

/** @throws OperatorError if the location is not a URL, or is a URL of another machine without TLS */
function webFiles(location: string, clock: Clock): ObjectSource {
  const url = URL.parse(location);
  if (url === null) throw new OperatorError(`${withoutCredentials(location)} isn't a URL.`, 'Correct the URL.');
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const address = parseAddress(host);
  const isOwn = host === 'localhost' || (address !== null && isLoopback(address));
  if (url.protocol === 'https:' || isOwn) return webSource(url, clock);
  throw new OperatorError(
    `${withoutCredentials(location)} doesn't use TLS, so anyone on the network path can withhold or delay data.`,
    'Use a URL that begins with https://. http:// works only for servers on this machine.',
  );
}

/** Returns an archive's location without the name of `archive.json` or `head.json`. */
export const archiveLocation = (location: string): string => withoutName(withoutName(location, IDENTITY), HEAD);

/** Returns the source of objects at a location, without reading any. @throws OperatorError for an unreadable location */
export const filesAt = (locationText: string, directory: string | null, clock: Clock): ObjectSource => {
  const location = archiveLocation(locationText);
  return isWeb(location) ? webFiles(location, clock) : objectStoreAt(location, directory);
};

/** Milliseconds until a reader is told that the archive doesn't answer, before all attempts have failed. */
const NOTICE_MS = 20_000;

interface Waiting {
  location: string;
  clock: Pick<Clock, 'after'>;
  /** Called with the reason if the archive hasn't answered for a while: the attempts to reach it take minutes. */
  late: (reason: string) => void;
}

/** Opens an archive and reads its identity. @throws OperatorError if there is no archive */
export async function openPatiently({ location, clock, late }: Waiting, open: () => Promise<ObjectStoreReads>) {
  const cancel = clock.after(NOTICE_MS, () => late(`${location} has not answered for ${duration(NOTICE_MS / 1_000)}`));
  try {
    const store = await open();
    return { store, identity: await requireIdentity(store) };
  } finally {
    cancel();
  }
}

/** @throws OperatorError unless the reader gives exactly one of a key and --archive-unsigned */
function requireTrust(location: string, { archivePublicKey, archiveUnsigned }: Trust): void {
  if (archivePublicKey !== null && archiveUnsigned) {
    throw new OperatorError('--archive-public-key and --archive-unsigned are both given.', 'Give one of them.');
  }
  if (archivePublicKey !== null || archiveUnsigned) return;
  throw new OperatorError(
    `The archive at ${location} is public, but no key is given to verify it.`,
    `Give --archive-public-key with the public key that its operator publishes (stackside archive key prints it there), or --archive-unsigned to read it without a check: anyone who controls its server or the connection may have invented blocks and balances.`,
  );
}

/** Loads and stores the newest head that a data directory saw of an archive. */
const headMemory = (
  { directory, isReadOnly = false }: Pick<OpenArchiveOptions, 'directory' | 'isReadOnly'>,
  location: string,
): Pick<SignedArchiveOptions, 'seen' | 'saw'> => ({
  seen: directory === null ? null : loadSeenArchive(directory),
  saw({ archive, entry, chain }) {
    if (directory !== null && !isReadOnly) saveSeenArchive(directory, { location, archive, entry, chain });
  },
});

/**
 * Opens an archive for reading. An archive on a web server is read by its head, and so is any archive if a key is given.
 * @throws OperatorError for a location that can't be read, and if an archive is public and its reader trusts no key
 */
export async function openArchive(options: OpenArchiveOptions): Promise<ObjectStoreReads> {
  const { location: locationText, directory, trust, clock, lacks } = options;
  const { archivePublicKey: key, archiveUnsigned } = trust;
  if (isWeb(locationText)) {
    const source = filesAt(locationText, directory, clock);
    requireTrust(source.location, trust);
    return signedArchive({ source, key, lacks, ...headMemory(options, source.location) });
  }
  const store = objectStoreAt(archiveLocation(locationText), directory);
  if (key === null && !archiveUnsigned && (await readIdentity(store))?.public !== true) return store;
  requireTrust(store.location, trust);
  return key === null ? store : signedArchive({ source: store, key, lacks, ...headMemory(options, store.location) });
}
