/** Data directories that stay until the tests of a file have ended. */
import { afterAll } from 'bun:test';
import { join } from 'node:path';
import { type DataDirectory, dataDirectory } from './data-directory.ts';

/** Call it once in a file. It removes the directories when all tests of the file have ended. */
export function keepToEnd() {
  const directories: DataDirectory[] = [];
  afterAll(() => {
    for (const directory of directories) directory[Symbol.dispose]();
  });
  /** Keeps a directory. @returns its path */
  const keep = (directory: DataDirectory): string => {
    directories.push(directory);
    return directory.path;
  };
  /** Returns a path in a new directory, where nothing is yet. */
  const folder = (): string => join(keep(dataDirectory()), 'new');
  return { keep, folder };
}
