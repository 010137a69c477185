/** Locks of a data directory, which end with the process that holds them: one writer, and one rebuild. */
import { SQLiteError } from 'bun:sqlite';
import { join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';
import { openLocked } from './connection.ts';
import { makePrivateDirectory } from './private-files.ts';
import { requireFinished } from './unfinished.ts';

/** Another process holds a lock of a data directory. */
export class LockHeldError extends OperatorError {
  override readonly name = 'LockHeldError';
}

/** @throws LockHeldError while another process holds it */
function lock(directory: string, file: string, problem: string, remedy: string): () => void {
  makePrivateDirectory(directory);
  try {
    const db = openLocked(join(directory, file));
    return () => db.close();
  } catch (error) {
    if (error instanceof SQLiteError && error.code === 'SQLITE_BUSY') throw new LockHeldError(problem, remedy);
    throw error;
  }
}

/**
 * Acquires the writer's lock.
 * @returns releases it
 * @throws LockHeldError while another process holds it, OperatorError where a restore or a fill into the directory is not finished
 */
export function lockWriter(directory: string): () => void {
  const unlock = lockUnfinished(directory);
  try {
    requireFinished(directory);
    return unlock;
  } catch (error) {
    unlock();
    throw error;
  }
}

/** Acquires the writer's lock like {@link lockWriter}, to continue a restore or a fill. */
export const lockUnfinished = (directory: string): (() => void) =>
  lock(
    directory,
    'writer.lock',
    `Another Stackside writes to ${directory}.`,
    'Stop that process first, or run this one with another --data or with --mode read.',
  );

/**
 * Acquires the lock for a rebuild beside the present index, while another process may write.
 * @returns releases it
 * @throws LockHeldError
 */
export const lockRebuild = (directory: string): (() => void) =>
  lock(directory, 'rebuild.lock', `The index in ${directory} is being rebuilt.`, 'Wait for the end of that rebuild.');
