/** Finds places that hold files by name: a directory, or the objects below a key of S3. */
import { systemClock } from '../base/clock.ts';
import { OperatorError } from '../base/errors.ts';
import { isInside } from '../base/files.ts';
import { directoryFiles } from './directory.ts';
import type { Place } from './files.ts';
import { s3Objects } from './remote.ts';

/** The scheme of a URL in lower case; null for a path. */
export const schemeOf = (location: string): string | null =>
  /^([a-z][a-z0-9+.-]+):\/\//i.exec(location)?.[1]?.toLowerCase() ?? null;

/** A location without the name of a file, which users may give instead of the place that has it. */
export const withoutName = (location: string, name: string): string =>
  location.endsWith(`/${name}`) ? location.slice(0, -name.length - 1) : location;

/**
 * Refuses a place inside the data directory, where commands remove their staging directories.
 * @throws OperatorError
 */
function requireOutside(location: string, directory: string): void {
  if (!isInside(location, directory)) return;
  throw new OperatorError(
    `${location} is inside the data directory ${directory}, where Stackside removes and replaces files of its own.`,
    'Give a location outside the data directory.',
  );
}

/**
 * The place at a path or below a key of S3; nothing is read yet.
 * @param directory the data directory, in which it must not be; null where none is concerned
 * @throws OperatorError for a location that is neither, or inside the data directory
 */
export function placeAt(location: string, directory: string | null): Place {
  switch (schemeOf(location)) {
    case null:
      if (directory !== null) requireOutside(location, directory);
      return directoryFiles(location);
    case 's3':
      return s3Objects({ url: location, variables: process.env, clock: systemClock });
    default:
      throw new OperatorError(
        `${location} is not a location for an archive.`,
        'Give a path, or a bucket and key of S3: s3://bucket/key',
      );
  }
}
