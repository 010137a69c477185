/**
 * Files of a data directory that a restore makes in its staging directory. The restore moves them once all are whole. After a
 * crash at any moment, the same command continues (`unfinished.ts`).
 */
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';
import { syncDirectory, writeWhole } from '../../base/files.ts';
import { removeLog } from './connection.ts';
import { indexPath, journalPath } from './database.ts';
import { FILE_MODE, makePrivateDirectory } from './private-files.ts';
import { isUnfinished, markerPath, stagingOf } from './unfinished.ts';

/** @throws OperatorError if a directory has data, and no restore into it is unfinished */
function requireNoData(directory: string): void {
  if (existsSync(markerPath(directory))) return;
  const leftover = [indexPath(directory), journalPath(directory)]
    .flatMap((path) => [path, `${path}-wal`, `${path}-journal`])
    .find((path) => existsSync(path));
  if (leftover === undefined) return;
  throw new OperatorError(`${directory} holds data already: ${leftover}.`, 'Give a new directory with --data.');
}

/**
 * Marks the directory as being made. Called with its lock held.
 * @param marker names the archive and the end of the restore; the same restore continues
 * @throws OperatorError if the directory has data, or a restore with another marker is unfinished there
 */
export function beginMaking(directory: string, marker: Uint8Array): void {
  deleteFinishedStaging(directory);
  requireNoData(directory);
  const path = markerPath(directory);
  if (existsSync(path)) {
    if (readFileSync(path).equals(marker)) return;
    throw new OperatorError(
      `${directory} contains an unfinished restore of another archive, from another base, or to another entry.`,
      'Finish that restore, or delete the directory to start over.',
    );
  }
  makePrivateDirectory(stagingOf(directory));
  writeWhole(path, marker, FILE_MODE);
  syncDirectory(directory);
}

/** Whether a file has been moved from the staging directory to the data directory. */
export const isInstalled = (directory: string, name: string): boolean =>
  existsSync(join(directory, name)) && !existsSync(join(stagingOf(directory), name));

/** Removes the staging directory of a restore that was stopped after its last step. */
export function deleteFinishedStaging(directory: string): void {
  if (!isUnfinished(directory)) rmSync(stagingOf(directory), { recursive: true, force: true });
}

/** Moves the files of the staging directory to the data directory. They are closed, without a write-ahead log. */
export function installStagedFiles(directory: string): void {
  const staging = stagingOf(directory);
  for (const path of [journalPath, indexPath]) {
    if (!existsSync(path(staging))) continue;
    removeLog(path(staging));
    renameSync(path(staging), path(directory));
  }
  syncDirectory(directory);
  rmSync(markerPath(directory));
  syncDirectory(staging);
  rmSync(staging, { recursive: true });
}
