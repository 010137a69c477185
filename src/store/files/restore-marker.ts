/** Marks a data directory whose restore is not finished. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';

/** The staging directory of a restore, inside the data directory. */
export const restoreStaging = (directory: string): string => join(directory, 'restore');
/** Path of the manifest of the backup that is being restored, which is there until the restore is finished. */
export const storedManifestPath = (directory: string): string => join(restoreStaging(directory), 'manifest.json');

/** Whether a restore into the directory is not finished. */
export const isBeingRestored = (directory: string): boolean => existsSync(storedManifestPath(directory));

/** @throws OperatorError where a restore into the directory is not finished */
export function requireRestored(directory: string): void {
  if (!isBeingRestored(directory)) return;
  throw new OperatorError(
    `A restore into ${directory} was begun and is not finished.`,
    'Run stackside restore again, which goes on where it broke off; or remove the directory to begin anew.',
  );
}
