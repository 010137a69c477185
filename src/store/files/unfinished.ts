/**
 * Marks a data directory during a restore, which makes its files in a staging directory inside it. The marker exists from
 * before the first byte until the files are moved.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';

/** Returns the path of the staging directory, inside the data directory. */
export const stagingOf = (directory: string): string => join(directory, 'restore');
/** Returns the path of the marker, which names the archive and the end of the restore. */
export const markerPath = (directory: string): string => join(stagingOf(directory), 'manifest.json');

/**
 * Returns whether a restore into the directory is unfinished. A full disk can stop a restore before its marker, and before the
 * first database. A crash after the last step leaves the staging directory beside the databases.
 */
export const isUnfinished = (directory: string): boolean =>
  existsSync(markerPath(directory)) ||
  (existsSync(stagingOf(directory)) && !readdirSync(directory).some((name) => name.endsWith('.db')));

/** @throws OperatorError if a restore into the directory is unfinished */
export function requireFinished(directory: string): void {
  if (!isUnfinished(directory)) return;
  throw new OperatorError(
    `${directory} contains an unfinished restore.`,
    'Run stackside restore again to continue it, or delete the directory to start over.',
  );
}
