/** Opens the archive at a location to be read, with the key that its reader trusts. */

import type { Clock } from '../base/clock.ts';
import { OperatorError } from '../base/errors.ts';
import { isLoopback, parseAddress } from '../http/hosts.ts';
import type { BackupSource, PlaceReads } from '../places/files.ts';
import { placeAt, schemeOf, withoutName } from '../places/place.ts';
import { webSource } from '../places/remote.ts';
import { identityIn } from './archive.ts';
import { IDENTITY } from './archive-directory.ts';
import { HEAD } from './head.ts';
import { noteArchive, seenArchive } from './seen-head.ts';
import { type SignedArchiveOptions, signedArchive } from './signed.ts';

/** Whom the reader of an archive trusts, as its settings say. */
export interface Trust {
  /** The public key of its signer, as `ed25519:…`; null for none. */
  archivePublicKey: string | null;
  /** Whether it is read although nobody vouches for it. */
  archiveUnsigned: boolean;
}

export interface OpenArchiveOptions extends Pick<SignedArchiveOptions, 'lacks'> {
  location: string;
  /** The data directory, which notes what it saw of the archive, and in which that must not be; null where none is concerned. */
  directory: string | null;
  trust: Trust;
  clock: Clock;
}

/** What it means to read an archive that nobody vouches for. */
export const UNSIGNED =
  'This archive is not verified: anyone who controls its server or the connection may have invented blocks and balances.';

/** Whether a location is a URL of a web server. */
export const isWeb = (location: string): boolean => ['http', 'https'].includes(schemeOf(location) ?? '');

/** @throws OperatorError for no URL, or one without TLS of another machine */
function webFiles(location: string, clock: Clock): BackupSource {
  const url = URL.parse(location);
  if (url === null) throw new OperatorError(`${location} isn't a URL.`, 'Correct the URL.');
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const address = parseAddress(host);
  const isOwn = host === 'localhost' || (address !== null && isLoopback(address));
  if (url.protocol === 'https:' || isOwn) return webSource(url, clock);
  throw new OperatorError(
    `${location} doesn't use TLS, so anyone on the network path can withhold or delay data.`,
    'Use a URL that begins with https://. http:// works only for servers on this machine.',
  );
}

/** The location of an archive without the name of an object that begins it. */
export const archiveLocation = (location: string): string => withoutName(withoutName(location, IDENTITY), HEAD);

/** The objects at a location, of which none is read yet. @throws OperatorError for a location that can't be read */
export const filesAt = (given: string, directory: string | null, clock: Clock): BackupSource => {
  const location = archiveLocation(given);
  return isWeb(location) ? webFiles(location, clock) : placeAt(location, directory);
};

/** @throws OperatorError where nobody vouches for an archive, and its reader didn't say that this is right */
function requireTrust(location: string, { archivePublicKey, archiveUnsigned }: Trust): void {
  if (archivePublicKey !== null && archiveUnsigned) {
    throw new OperatorError('--archive-public-key and --archive-unsigned are both given.', 'Give one of them.');
  }
  if (archivePublicKey !== null || archiveUnsigned) return;
  throw new OperatorError(
    `The archive at ${location} is public, and no key is given that it is signed with.`,
    `Give --archive-public-key with the public key that its operator publishes (stackside archive key prints it there), or --archive-unsigned. ${UNSIGNED}`,
  );
}

/** What a data directory saw of an archive, and notes of it. */
const noting = (directory: string | null, location: string): Pick<SignedArchiveOptions, 'seen' | 'saw'> => ({
  seen: directory === null ? null : seenArchive(directory),
  saw({ archive, entry, chain }) {
    if (directory !== null) noteArchive(directory, { location, archive, entry, chain });
  },
});

/**
 * Opens an archive to be read. One on a web server is read by its head, and so is any other if a key is given.
 * @throws OperatorError for a location that can't be read, and where an archive is public and its reader trusts no key
 */
export async function openArchive({
  location: given,
  directory,
  trust,
  clock,
  lacks,
}: OpenArchiveOptions): Promise<PlaceReads> {
  const { archivePublicKey: key, archiveUnsigned } = trust;
  if (isWeb(given)) {
    const source = filesAt(given, directory, clock);
    requireTrust(source.location, trust);
    return signedArchive({ source, key, lacks, ...noting(directory, source.location) });
  }
  const place = placeAt(archiveLocation(given), directory);
  if (key === null && !archiveUnsigned && (await identityIn(place))?.public !== true) return place;
  requireTrust(place.location, trust);
  return key === null ? place : signedArchive({ source: place, key, lacks, ...noting(directory, place.location) });
}
