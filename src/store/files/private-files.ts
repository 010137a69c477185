/** Files and directories for their owner alone: the data holds keys, and the URLs that chainhooks are sent to. */
import { closeSync, mkdirSync, openSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { hasCode } from '../../base/errors.ts';

export const DIRECTORY_MODE = 0o700;
export const FILE_MODE = 0o600;
/** What group and others may do. */
const OTHERS = 0o077;

/** Makes a directory, and those above it, where they are missing. Directories above it get the usual mode. */
export function makePrivateDirectory(directory: string): void {
  mkdirSync(dirname(resolve(directory)), { recursive: true });
  mkdirSync(directory, { recursive: true, mode: DIRECTORY_MODE });
}

/**
 * Makes an empty file where there is none. SQLite takes it for an empty database, and gives the files that it makes
 * beside a database the mode of the database. A file that is there is never opened: to close a file ends all POSIX locks
 * that this process has on it, those of an open database too.
 */
export function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'ax', FILE_MODE));
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    // SQLite would only say that it can't open it.
    if (statSync(path).isDirectory()) {
      throw Object.assign(new Error(`${path} is a directory`, { cause: error }), { code: 'EISDIR', path });
    }
  }
}

/**
 * @returns the directory and the files in it that other users of this machine have rights to; none on Windows, which has
 *   no such modes
 */
export function openToOthers(directory: string): string[] {
  if (process.platform === 'win32') return [];
  const paths = [directory, ...readdirSync(directory).map((name) => join(directory, name))];
  return paths.filter((path) => {
    const found = statSync(path, { throwIfNoEntry: false });
    return found !== undefined && (found.mode & OTHERS) !== 0;
  });
}
