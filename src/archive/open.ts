/** Opens the archive at a location for reading, with the key that its reader trusts. */

import { type Clock, systemRandom } from '../base/clock.ts';
import { OperatorError } from '../base/errors.ts';
import { isLoopback, parseAddress } from '../http/hosts.ts';
import { objectStoreAt, schemeOf, withoutName } from '../storage/location.ts';
import type { BackupSource, ObjectStoreReads } from '../storage/object-store.ts';
import { webSource } from '../storage/remote.ts';
import { readIdentity } from './archive.ts';
import { IDENTITY } from './archive-directory.ts';
import { HEAD } from './head.ts';
import { loadSeenArchive, type SignedArchiveOptions, saveSeenArchive, signedArchive } from './signed.ts';

/** Settings for the trust of a reader in an archive. */
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
  trust: Trust;
  clock: Clock;
  /** Called with the reason before a request to the archive's server is repeated for the first time. */
  retrying?: (reason: string) => void;
}

/** Warning about an archive that no key verifies. */
export const UNSIGNED =
  'This archive is not verified: anyone who controls its server or the connection may have invented blocks and balances.';

/** Whether a location is a URL of a web server. */
export const isWeb = (location: string): boolean => ['http', 'https'].includes(schemeOf(location) ?? '');

/** @throws OperatorError if the location is not a URL, or is a URL of another machine without TLS */
function webFiles(location: string, clock: Clock, retrying: OpenArchiveOptions['retrying']): BackupSource {
  const url = URL.parse(location);
  if (url === null) throw new OperatorError(`${location} isn't a URL.`, 'Correct the URL.');
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const address = parseAddress(host);
  const isOwn = host === 'localhost' || (address !== null && isLoopback(address));
  if (url.protocol === 'https:' || isOwn) return webSource(url, clock, systemRandom.number, retrying);
  throw new OperatorError(
    `${location} doesn't use TLS, so anyone on the network path can withhold or delay data.`,
    'Use a URL that begins with https://. http:// works only for servers on this machine.',
  );
}

/** Returns an archive's location without the name of `archive.json` or `head.json`. */
export const archiveLocation = (location: string): string => withoutName(withoutName(location, IDENTITY), HEAD);

/** Returns the source of objects at a location, without reading any. @throws OperatorError for an unreadable location */
export const filesAt = (
  locationText: string,
  directory: string | null,
  clock: Clock,
  retrying?: OpenArchiveOptions['retrying'],
): BackupSource => {
  const location = archiveLocation(locationText);
  return isWeb(location) ? webFiles(location, clock, retrying) : objectStoreAt(location, directory, retrying);
};

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
const headMemory = (directory: string | null, location: string): Pick<SignedArchiveOptions, 'seen' | 'saw'> => ({
  seen: directory === null ? null : loadSeenArchive(directory),
  saw({ archive, entry, chain }) {
    if (directory !== null) saveSeenArchive(directory, { location, archive, entry, chain });
  },
});

/**
 * Opens an archive for reading. An archive on a web server is read by its head, and so is any archive if a key is given.
 * @throws OperatorError for a location that can't be read, and if an archive is public and its reader trusts no key
 */
export async function openArchive({
  location: locationText,
  directory,
  trust,
  clock,
  lacks,
  retrying,
}: OpenArchiveOptions): Promise<ObjectStoreReads> {
  const { archivePublicKey: key, archiveUnsigned } = trust;
  if (isWeb(locationText)) {
    const source = filesAt(locationText, directory, clock, retrying);
    requireTrust(source.location, trust);
    return signedArchive({ source, key, lacks, ...headMemory(directory, source.location) });
  }
  const store = objectStoreAt(archiveLocation(locationText), directory, retrying);
  if (key === null && !archiveUnsigned && (await readIdentity(store))?.public !== true) return store;
  requireTrust(store.location, trust);
  return key === null ? store : signedArchive({ source: store, key, lacks, ...headMemory(directory, store.location) });
}
