/** Data directories that stay until the tests of a file have ended. */
import { afterAll } from 'bun:test';
import { join } from 'node:path';
import { type DataDirectory, dataDirectory } from './data-directory.ts';

/** Call it once in a file. It removes the directories when all tests of the file have ended. */
export function keptToEnd() {
  const made: DataDirectory[] = [];
  afterAll(() => {
    for (const directory of made) directory[Symbol.dispose]();
  });
  /** Keeps a directory. @returns its path */
  const kept = (directory: DataDirectory): string => {
    made.push(directory);
    return directory.path;
  };
  /** Returns a path in a new directory, where nothing is yet. */
  const folder = (): string => join(kept(dataDirectory()), 'new');
  return { kept, folder };
}
