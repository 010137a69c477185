/** Files that exist whole or not at all: each is written to a second file beside it, synced, and renamed. */
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { OperatorError } from './errors.ts';
import { onFile } from './system-errors.ts';

export interface WholeFile {
  /** The final path. */
  readonly path: string;
  /** The path to write to until the file is whole. An empty file exists there from the start. */
  readonly partial: string;
  /** Renames the partial file to the final path, and replaces a file that exists there. @throws OperatorError */
  keep(): void;
  /** Whether the file is at its final path, which is so even where the rename could not be synced to the disk. */
  isKept(): boolean;
  /** Removes the partial file unless it was kept. A file at the final path stays. */
  discard(): void;
}

/** Makes the names in a directory last through a loss of power. */
export function syncDirectory(path: string): void {
  // Windows has no handle of a directory that could be synced.
  if (process.platform === 'win32') return;
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/**
 * Begins a file.
 * @param path where it will be; a link is followed
 * @param mode of the file, less the umask
 * @throws OperatorError where it can't be written
 */
export function wholeFile(path: string, mode = 0o666): WholeFile {
  const directory = dirname(path);
  if (!existsSync(directory)) {
    throw new OperatorError(`There is no directory ${directory}.`, 'Create the directory, or give another path.');
  }
  const place = existsSync(path) ? realpathSync(path) : path;
  const partial = `${place}.partial`;
  const file = onFile(partial, () => {
    // One that was left behind by a process that was killed.
    rmSync(partial, { force: true });
    return openSync(partial, 'wx', mode);
  });
  const { ino } = fstatSync(file);
  let open = true;
  let kept = false;
  const close = (): void => {
    if (open) closeSync(file);
    open = false;
  };
  /** Another process that writes the same file has put its own there. */
  const isOurs = (): boolean => statSync(partial, { throwIfNoEntry: false })?.ino === ino;
  return {
    path,
    partial,
    keep() {
      onFile(path, () => {
        fsyncSync(file);
        if (!isOurs())
          throw new OperatorError(`Another process writes ${path}, too.`, 'Let one of the two finish first.');
        close();
        renameSync(partial, place);
        kept = true;
        syncDirectory(dirname(place));
      });
    },
    isKept: () => kept,
    discard() {
      if (!kept && isOurs()) rmSync(partial);
      close();
    },
  };
}
