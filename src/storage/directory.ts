/** Archives in directories. A complete file is renamed into place, so it exists as a whole or not at all. */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { hasCode, OperatorError } from '../base/errors.ts';
import { type WholeFile, wholeFile } from '../base/files.ts';
import { operatorErrorOf } from '../base/system-errors.ts';
import { DIRECTORY_MODE, FILE_MODE } from '../store/files/private-files.ts';
import type { ObjectStore } from './object-store.ts';
import type { SizeBounds } from './transfer.ts';

/** Runs work on a file, and converts its failures to errors for the operator. @throws OperatorError */
async function whileOnFile<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw operatorErrorOf(error, path) ?? error;
  }
}

/** Reads a regular file. Rejects pipes and devices, which a link may lead to, because reading them may never end. */
async function bytesOf(path: string, maxBytes: number): Promise<Uint8Array> {
  if (!(await stat(path)).isFile()) {
    throw new OperatorError(`${path} isn't a file.`, 'Put the object back from a copy of the archive.');
  }
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    if (size > maxBytes) {
      throw new OperatorError(
        `${path} has ${size} bytes. The maximum is ${maxBytes}.`,
        'Put the object back from a copy of the archive.',
      );
    }
    const bytes = Buffer.alloc(size);
    const { bytesRead } = await file.read(bytes, 0, size, 0);
    return bytes.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

const readFrom =
  (directory: string) =>
  (name: string, { most }: SizeBounds) => {
    const path = join(directory, name);
    return whileOnFile(path, () =>
      bytesOf(path, most).catch((error: unknown) => {
        if (hasCode(error, 'ENOENT')) return null;
        throw error;
      }),
    );
  };

/** Makes a directory if it doesn't exist. @throws OperatorError if its parent doesn't exist, for example on an unmounted disk */
function makeDirectory(directory: string): void {
  if (existsSync(directory)) return;
  const parent = dirname(directory);
  if (!existsSync(parent)) {
    throw new OperatorError(
      `The directory ${parent} doesn't exist.`,
      'Mount its disk, create the directory, or give another path.',
    );
  }
  mkdirSync(directory, { mode: DIRECTORY_MODE });
}

/** Writes a whole file. @param commit gives it its final name */
function written<T>(path: string, bytes: Uint8Array, commit: (file: WholeFile) => T): Promise<T> {
  return whileOnFile(path, async () => {
    makeDirectory(dirname(path));
    const file = wholeFile(path, FILE_MODE);
    try {
      writeFileSync(file.partial, bytes);
      return commit(file);
    } finally {
      file.discard();
    }
  });
}

/**
 * Returns the files of a directory. The first file creates the directory, but its parent must exist. @param location path
 * of the directory
 */
export function directoryFiles(location: string): ObjectStore {
  const path = resolve(location);
  return {
    location: path,
    read: readFrom(path),
    list: (beginning) =>
      whileOnFile(path, async () => {
        if (!existsSync(path)) return [];
        return readdirSync(path)
          .filter((name) => name.startsWith(beginning))
          .sort();
      }),
    create: (name, bytes) => written(join(path, name), bytes, (file) => file.commitNew()),
    write: (name, bytes) => written(join(path, name), bytes, (file) => file.commit()),
    remove: (name) => whileOnFile(join(path, name), async () => rmSync(join(path, name), { force: true })),
  };
}
