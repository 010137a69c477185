/** Finds stores of files: a directory, or the objects below a key of S3. */
import { systemClock } from '../base/clock.ts';
import { OperatorError } from '../base/errors.ts';
import { isInside } from '../base/files.ts';
import { directoryFiles } from './directory.ts';
import type { ObjectStore } from './object-store.ts';
import { s3Objects } from './remote.ts';

/** Returns the scheme of a URL in lower case; null for a path. */
export const schemeOf = (location: string): string | null =>
  /^([a-z][a-z0-9+.-]+):\/\//i.exec(location)?.[1]?.toLowerCase() ?? null;

/** Returns a location without the name of a file in it, which users may pass instead of the location. */
export const withoutName = (location: string, name: string): string =>
  location.endsWith(`/${name}`) ? location.slice(0, -name.length - 1) : location;

/** Rejects a store inside the data directory, because commands remove their staging directories there. @throws OperatorError */
function requireOutside(location: string, directory: string): void {
  if (!isInside(location, directory)) return;
  throw new OperatorError(
    `${location} is inside the data directory ${directory}, where Stackside deletes and replaces files.`,
    'Use a location outside the data directory.',
  );
}

/**
 * Returns the store at a path or below a key of S3, without reading it.
 * @param directory the data directory, which must not contain the store; null if the command has none
 * @param retrying called with the reason before a request to S3 is repeated for the first time
 * @throws OperatorError if the location is neither a path nor a key, or is inside the data directory
 */
export function objectStoreAt(
  location: string,
  directory: string | null,
  retrying?: (reason: string) => void,
): ObjectStore {
  switch (schemeOf(location)) {
    case null:
      if (directory !== null) requireOutside(location, directory);
      return directoryFiles(location);
    case 's3':
      return s3Objects({ url: location, variables: process.env, clock: systemClock, retrying });
    default:
      throw new OperatorError(
        `${location} is not a location for an archive.`,
        'Give a path, or a bucket and prefix of S3: s3://bucket/prefix',
      );
  }
}
