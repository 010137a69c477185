/** The mark of a data directory whose restore is not finished. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';

/** Where the files of a backup are made, inside the data directory. */
export const restoreStaging = (directory: string): string => join(directory, 'restore');
/** The manifest of the backup that is being restored. */
export const storedManifestPath = (directory: string): string => join(restoreStaging(directory), 'manifest.json');

/** Whether the files of the directory are not all there yet. */
export const isBeingRestored = (directory: string): boolean => existsSync(storedManifestPath(directory));

/** @throws OperatorError where a restore into the directory is not finished */
export function requireRestored(directory: string): void {
  if (!isBeingRestored(directory)) return;
  throw new OperatorError(
    `A restore into ${directory} was begun and is not finished.`,
    'Run stackside restore again, which goes on where it broke off; or remove the directory to begin anew.',
  );
}
