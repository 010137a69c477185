/**
 * Locks that end with the process that holds them: one writer and one rebuild per data directory, and one devnet per
 * state file.
 */
import { SQLiteError } from 'bun:sqlite';
import { type BigIntStats, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';
import { openLocked } from './connection.ts';
import { makePrivateDirectory } from './private-files.ts';
import { requireFinished } from './unfinished.ts';

/** Another process holds a lock. */
export class LockHeldError extends OperatorError {
  override readonly name = 'LockHeldError';
}

export interface Lock extends Disposable {
  /**
   * Reads the status of the lock's file, which takes microseconds.
   * @throws OperatorError if the file was removed or replaced, so that another process may hold a lock of the same name
   */
  requireHeld(): void;
}

/** @throws LockHeldError while another process holds it */
function lock(directory: string, file: string, problem: string, remedy: string): Lock {
  makePrivateDirectory(directory);
  const path = join(directory, file);
  const status = (): BigIntStats | undefined => statSync(path, { bigint: true, throwIfNoEntry: false });
  try {
    const db = openLocked(path);
    // No other file can get this number while the connection has the file open.
    const lockStats = status();
    return {
      requireHeld() {
        const stats = status();
        if (stats !== undefined && stats.ino === lockStats?.ino && stats.dev === lockStats.dev) return;
        throw new OperatorError(
          `${path} was removed or replaced while Stackside held its lock. Another process may write to ${directory}.`,
          'Start Stackside again. Never remove a lock file: the lock ends with its process.',
        );
      },
      [Symbol.dispose]: () => db.close(),
    };
  } catch (error) {
    if (error instanceof SQLiteError && error.code === 'SQLITE_BUSY') throw new LockHeldError(problem, remedy);
    throw error;
  }
}

/**
 * Acquires the writer's lock.
 * @throws LockHeldError while another process holds it, OperatorError if a restore or a fill into the directory is not finished
 */
export function lockWriter(directory: string): Lock {
  const lock = lockUnfinished(directory);
  try {
    requireFinished(directory);
    return lock;
  } catch (error) {
    lock[Symbol.dispose]();
    throw error;
  }
}

/** Acquires the writer's lock like {@link lockWriter}, to continue a restore or a fill. */
export const lockUnfinished = (directory: string): Lock =>
  lock(
    directory,
    'writer.lock',
    `Another Stackside writes to ${directory}.`,
    'Stop that process first, or use another --data directory. Only serve --mode read and rebuild --beside can run next to it.',
  );

/** Acquires the lock for a rebuild, while another process may write the present index. @throws LockHeldError */
export const lockRebuild = (directory: string): Lock =>
  lock(directory, 'rebuild.lock', `The index in ${directory} is being rebuilt.`, 'Wait until the rebuild ends.');

/** Acquires the lock of a devnet's state, a file beside the state. The directory must exist. @throws LockHeldError */
export const lockState = (path: string): Lock =>
  lock(
    dirname(path),
    `${basename(path)}.lock`,
    `Another devnet uses the state in ${path}.`,
    'Stop that devnet first, or name another file with --state.',
  );
