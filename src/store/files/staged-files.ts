/**
 * Files of a data directory that a restore or a fill makes in its staging directory. They are moved once all are whole; after a
 * crash at any moment, the same command goes on (`unfinished.ts`).
 */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';
import { syncDirectory, wholeFile } from '../../base/files.ts';
import { removeLog } from './connection.ts';
import { indexPath, journalPath } from './database.ts';
import { FILE_MODE, makePrivateDirectory } from './private-files.ts';
import { anotherIsMade, isUnfinished, type Maker, markerPath, stagingOf } from './unfinished.ts';

/** @throws OperatorError where a directory has data that is not being made by this command */
function requireNoData(directory: string, maker: Maker): void {
  if (isUnfinished(directory, maker)) return;
  const found = [indexPath(directory), journalPath(directory)]
    .flatMap((path) => [path, `${path}-wal`, `${path}-journal`])
    .find((path) => existsSync(path));
  if (found === undefined) return;
  throw new OperatorError(`${directory} holds data already: ${found}.`, 'Give a directory that has none.');
}

/**
 * Marks the directory as being made. Called with its lock held.
 * @param marker what is being made: the same command goes on with it
 * @throws OperatorError where the directory has data, or something else is being made there
 */
export function beginMaking(directory: string, maker: Maker, marker: Uint8Array): void {
  clearDone(directory);
  requireNoData(directory, maker);
  const path = markerPath(directory, maker);
  if (existsSync(path)) {
    if (readFileSync(path).equals(marker)) return;
    throw anotherIsMade(directory, maker);
  }
  makePrivateDirectory(stagingOf(directory, maker));
  const file = wholeFile(path, FILE_MODE);
  try {
    writeFileSync(file.partial, marker);
    file.commit();
  } finally {
    file.discard();
  }
  syncDirectory(directory);
}

/** Whether a file has been moved from the staging directory to the data directory. */
export const isInstalled = (directory: string, maker: Maker, name: string): boolean =>
  existsSync(join(directory, name)) && !existsSync(join(stagingOf(directory, maker), name));

/** Removes the staging directories of commands that were stopped after their last step. */
export function clearDone(directory: string): void {
  for (const maker of ['restore', 'fill'] as const) {
    if (!isUnfinished(directory, maker)) rmSync(stagingOf(directory, maker), { recursive: true, force: true });
  }
}

/**
 * Moves the files of the staging directory to the data directory. They are closed, and have no write-ahead log.
 * @param moved called once the files are moved, before another process may write to them
 */
export function installStagedFiles(directory: string, maker: Maker, moved: () => void): void {
  const staging = stagingOf(directory, maker);
  for (const path of [journalPath, indexPath]) {
    if (!existsSync(path(staging))) continue;
    removeLog(path(staging));
    renameSync(path(staging), path(directory));
  }
  syncDirectory(directory);
  moved();
  rmSync(markerPath(directory, maker));
  syncDirectory(staging);
  rmSync(staging, { recursive: true });
}
