/**
 * Files of a backup on their way into a data directory. They are made in a staging directory inside it and take their places once
 * all are whole. The staging directory's manifest is there from before the first byte until both are in their places.
 */
import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';
import { syncDirectory } from '../../base/files.ts';
import { removeLog } from './connection.ts';
import { indexPath, journalPath } from './database.ts';

import { isBeingRestored, restoreStaging, storedManifestPath } from './restore-marker.ts';

/** @throws OperatorError where a directory holds data that no restore brought there */
export function requireNoData(directory: string): void {
  if (isBeingRestored(directory)) return;
  const found = [indexPath(directory), journalPath(directory)]
    .flatMap((path) => [path, `${path}-wal`, `${path}-journal`])
    .find((path) => existsSync(path));
  if (found === undefined) return;
  throw new OperatorError(`${directory} holds data already: ${found}.`, 'Restore into a directory that has none.');
}

/** Whether a file of the staging directory is in its place by now. */
export const isInPlace = (directory: string, name: string): boolean =>
  existsSync(join(directory, name)) && !existsSync(join(restoreStaging(directory), name));

/** Removes what a restore left that was stopped after its last step. */
export function clearDoneRestore(directory: string): void {
  if (!isBeingRestored(directory)) rmSync(restoreStaging(directory), { recursive: true, force: true });
}

/**
 * Puts the files of the staging directory in their places. Whatever the moment of a crash, the restore can go on.
 * @param inPlace called once they are there, and before anybody else may write to them
 */
export function installRestoredFiles(directory: string, inPlace: () => void): void {
  const staging = restoreStaging(directory);
  for (const path of [journalPath, indexPath]) {
    if (!existsSync(path(staging))) continue;
    removeLog(path(staging));
    renameSync(path(staging), path(directory));
  }
  syncDirectory(directory);
  inPlace();
  rmSync(storedManifestPath(directory));
  syncDirectory(staging);
  rmSync(staging, { recursive: true });
}
