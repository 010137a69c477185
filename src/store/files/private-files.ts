/** Creates files and directories with rights for their owner only: the data includes keys and the URLs of chainhooks. */
import { accessSync, closeSync, constants, mkdirSync, openSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { hasCode } from '../../base/errors.ts';

export const DIRECTORY_MODE = 0o700;
export const FILE_MODE = 0o600;
/** The permission bits of group and others. */
const OTHERS = 0o077;

/** Creates a directory with rights for its owner only. Missing parent directories get the usual mode. */
export function makePrivateDirectory(directory: string): void {
  mkdirSync(dirname(resolve(directory)), { recursive: true });
  mkdirSync(directory, { recursive: true, mode: DIRECTORY_MODE });
}

/**
 * Creates an empty file if there is none. SQLite uses it as an empty database, and gives the other files of a database the
 * mode of the database. An existing file is never opened: closing a file ends all POSIX locks that this process has on it,
 * including the locks of an open database.
 */
export function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'ax', FILE_MODE));
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    // SQLite's error would lack the reason why it can't open the file.
    if (statSync(path).isDirectory()) {
      throw Object.assign(new Error(`${path} is a directory`, { cause: error }), { code: 'EISDIR', path });
    }
  }
}

/**
 * Checks that this process may write to a database and its other files. SQLite would open a file that it may not write for
 * reading only, and refuse the first write.
 * @throws the system's error, with the path
 */
export function requireWritableFiles(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    try {
      accessSync(file, constants.W_OK);
    } catch (error) {
      // Another connection may remove the files beside a database when it closes.
      if (!hasCode(error, 'ENOENT')) throw error;
    }
  }
}

/**
 * @returns the directory and files that other users of this machine have rights to; none on Windows, which lacks such
 *   modes
 */
export function pathsOpenToOthers(directory: string): string[] {
  if (process.platform === 'win32') return [];
  const paths = [directory, ...readdirSync(directory).map((name) => join(directory, name))];
  return paths.filter((path) => {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats !== undefined && (stats.mode & OTHERS) !== 0;
  });
}
