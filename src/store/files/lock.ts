/** One writer for a data directory, whatever happens to it: the lock goes with the process that holds it. */
import { SQLiteError } from 'bun:sqlite';
import { join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';
import { openLocked } from './connection.ts';
import { makePrivateDirectory } from './private-files.ts';
import { requireRestored } from './restore-marker.ts';

/**
 * Takes the writer's place.
 * @returns what gives it back
 * @throws OperatorError while another process has it, or where a restore into the directory is not finished
 */
export function lockWriter(directory: string): () => void {
  const unlock = lockForRestore(directory);
  try {
    requireRestored(directory);
    return unlock;
  } catch (error) {
    unlock();
    throw error;
  }
}

/** Takes the writer's place like {@link lockWriter}, to go on with a restore. */
export function lockForRestore(directory: string): () => void {
  makePrivateDirectory(directory);
  try {
    const db = openLocked(join(directory, 'writer.lock'));
    return () => db.close();
  } catch (error) {
    if (error instanceof SQLiteError && error.code === 'SQLITE_BUSY') {
      throw new OperatorError(
        `Another Stackside writes to ${directory}.`,
        'Stop that process first, or run this one with another --data or with --mode read.',
      );
    }
    throw error;
  }
}
