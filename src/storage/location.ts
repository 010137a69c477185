/** Stores of archive files: a directory, or the objects below a key of S3. */
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { withoutCredentials } from '../base/credentials.ts';
import { hasCode, OperatorError } from '../base/errors.ts';
import { isInside, type WholeFile, wholeFile } from '../base/files.ts';
import { operatorErrorOf } from '../base/system-errors.ts';
import { DIRECTORY_MODE, FILE_MODE } from '../store/files/private-files.ts';
import type { ObjectStore } from './object-store.ts';
import { s3Objects } from './remote.ts';

/** Returns the scheme of a URL in lower case; null for a path. */
export const schemeOf = (location: string): string | null =>
  /^([a-z][a-z0-9+.-]+):\/\//i.exec(location)?.[1]?.toLowerCase() ?? null;

/** Returns a location without the name of a file in it, which users may pass instead of the location. */
export const withoutName = (location: string, name: string): string =>
  location.endsWith(`/${name}`) ? location.slice(0, -name.length - 1) : location;

/** Rejects a store inside the data directory, because commands remove their staging directories there. @throws OperatorError */
function requireOutside(location: string, directory: string): void {
  if (!isInside(location, directory)) return;
  throw new OperatorError(
    `${location} is inside the data directory ${directory}, where Stackside deletes and replaces files.`,
    'Use a location outside the data directory.',
  );
}

/**
 * Returns the store at a path or below a key of S3, without reading it.
 * @param directory the data directory, which must not contain the store; null if the command has none
 * @param isPublic whether other users of this machine, such as a web server, may read the files that are written to a directory
 * @throws OperatorError if the location is neither a path nor a key, or is inside the data directory
 */
export function objectStoreAt(location: string, directory: string | null, isPublic = false): ObjectStore {
  switch (schemeOf(location)) {
    case null:
      if (directory !== null) requireOutside(location, directory);
      return directoryFiles(location, isPublic);
    case 's3':
      return s3Objects({ url: location, variables: process.env, clock: systemClock });
    default:
      throw new OperatorError(
        `${withoutCredentials(location)} is not a location for an archive.`,
        'Give a path, or a bucket and prefix of S3: s3://bucket/prefix',
      );
  }
}

// ── Directories: a complete file is renamed into place, so it exists as a whole or not at all ──

/** Runs work on a file, and converts its failures to errors for the operator. @throws OperatorError */
async function whileOnFile<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw operatorErrorOf(error, path) ?? error;
  }
}

/**
 * Reads a regular file; null if there is no such file. Rejects pipes and devices, which a link may lead to, because reading
 * them may never end.
 */
async function readBytes(path: string, maxBytes: number): Promise<Uint8Array | null> {
  try {
    if (!(await stat(path)).isFile()) {
      throw new OperatorError(`${path} isn't a file.`, 'Put the object back from a copy of the archive.');
    }
    await using file = await open(path, 'r');
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
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
}

const [PUBLIC_DIRECTORY_MODE, PUBLIC_FILE_MODE] = [0o755, 0o644];

/** Gives a new file or directory these permissions, also if the umask forbids them. */
function openToOthers(path: string, mode: number): void {
  if ((statSync(path).mode & mode) !== mode) chmodSync(path, mode);
}

/** @throws OperatorError if the directory in which a directory is to be made doesn't exist, for example on an unmounted disk */
function requireParent(directory: string): void {
  const parent = dirname(directory);
  if (existsSync(parent)) return;
  throw new OperatorError(
    `The directory ${parent} doesn't exist.`,
    'Mount its disk, create the directory, or give another path.',
  );
}

/** Makes a directory if it doesn't exist. @throws OperatorError if its parent doesn't exist */
function makeDirectory(directory: string, isPublic: boolean): void {
  if (existsSync(directory)) return;
  requireParent(directory);
  mkdirSync(directory, { mode: DIRECTORY_MODE });
  if (isPublic) openToOthers(directory, PUBLIC_DIRECTORY_MODE);
}

/** Writes a whole file. @param commit gives it its final name */
function writeFile<T>(path: string, bytes: Uint8Array, isPublic: boolean, commit: (file: WholeFile) => T): Promise<T> {
  return whileOnFile(path, async () => {
    makeDirectory(dirname(path), isPublic);
    const file = wholeFile(path, FILE_MODE);
    try {
      writeFileSync(file.partial, bytes);
      if (isPublic) openToOthers(file.partial, PUBLIC_FILE_MODE);
      return commit(file);
    } finally {
      file.discard();
    }
  });
}

/**
 * Returns the files of a directory. The first file creates the directory, but its parent must exist.
 * @param location path of the directory
 * @param isPublic whether other users may read the written files
 */
export function directoryFiles(location: string, isPublic = false): ObjectStore {
  const path = resolve(location);
  return {
    location: path,
    check: () =>
      whileOnFile(path, async () => {
        if (!existsSync(path)) requireParent(path);
        // A file with this name has no entries to read.
        else readdirSync(path);
        // The slash makes it fail for a file.
        accessSync(existsSync(path) ? path : `${dirname(path)}/`, constants.W_OK | constants.X_OK);
      }),
    read: (name, { max }) => whileOnFile(join(path, name), () => readBytes(join(path, name), max)),
    list: (prefix) =>
      whileOnFile(path, async () => {
        if (!existsSync(path)) return [];
        return readdirSync(path)
          .filter((name) => name.startsWith(prefix))
          .sort();
      }),
    create: (name, bytes) => writeFile(join(path, name), bytes, isPublic, (file) => file.commitNew()),
    write: (name, bytes) => writeFile(join(path, name), bytes, isPublic, (file) => file.commit()),
    remove: (name) => whileOnFile(join(path, name), async () => rmSync(join(path, name), { force: true })),
  };
}
