/** Recognizes a directory that is an archive and therefore not a data directory. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../base/errors.ts';

/** Name of the object that identifies the log of an archive. */
export const IDENTITY = 'archive.json';

/**
 * Rejects an archive as a data directory: a command would write its keys or its index into the archive.
 * @throws OperatorError
 */
export function requireNoArchive(directory: string): void {
  if (!existsSync(join(directory, IDENTITY))) return;
  throw new OperatorError(
    `${directory} is an archive, and not a data directory.`,
    `Name another directory with --data. To restore the archive into it, run stackside restore ${directory} --data DIR.`,
  );
}
