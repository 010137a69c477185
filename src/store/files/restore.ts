/**
 * Restores files of a backup into a data directory. They are made in a staging directory inside it, and moved once all are
 * whole. The staging directory's manifest exists from before the first byte until both files are moved.
 */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';
import { syncDirectory } from '../../base/files.ts';
import { removeLog } from './connection.ts';
import { indexPath, journalPath } from './database.ts';

import { isBeingRestored, restoreStaging, storedManifestPath } from './restore-marker.ts';

/** @throws OperatorError where a directory has data that no unfinished restore made */
export function requireNoData(directory: string): void {
  if (isBeingRestored(directory)) return;
  const found = [indexPath(directory), journalPath(directory)]
    .flatMap((path) => [path, `${path}-wal`, `${path}-journal`])
    .find((path) => existsSync(path));
  if (found === undefined) return;
  throw new OperatorError(`${directory} holds data already: ${found}.`, 'Restore into a directory that has none.');
}

/** Whether a file has been moved from the staging directory to the data directory. */
export const isInstalled = (directory: string, name: string): boolean =>
  existsSync(join(directory, name)) && !existsSync(join(restoreStaging(directory), name));

/** Removes the staging directory of a restore that was stopped after its last step. */
export function clearDoneRestore(directory: string): void {
  if (!isBeingRestored(directory)) rmSync(restoreStaging(directory), { recursive: true, force: true });
}

/**
 * Moves the files of the staging directory to the data directory. After a crash at any moment, the restore can continue.
 * @param moved called once the files are moved, before another process may write to them
 */
export function installRestoredFiles(directory: string, moved: () => void): void {
  const staging = restoreStaging(directory);
  for (const path of [journalPath, indexPath]) {
    if (!existsSync(path(staging))) continue;
    removeLog(path(staging));
    renameSync(path(staging), path(directory));
  }
  syncDirectory(directory);
  moved();
  rmSync(storedManifestPath(directory));
  syncDirectory(staging);
  rmSync(staging, { recursive: true });
}
