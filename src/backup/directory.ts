/**
 * Backups and archives in directories. A backup is renamed into place when it is complete, and so is each file of an archive: it
 * exists whole or not at all.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { hasCode, OperatorError } from '../base/errors.ts';
import { syncDirectory, type WholeFile, wholeFile } from '../base/files.ts';
import { onFile, operatorErrorOf } from '../base/system-errors.ts';
import { DIRECTORY_MODE, FILE_MODE } from '../store/files/private-files.ts';
import { type BackupSource, type BackupTarget, isBackupFile, type Place } from './manifest.ts';
import type { SizeBounds } from './transfer.ts';

/** Runs work on a file, and turns its failures into errors for the operator. @throws OperatorError */
async function whileOnFile<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw operatorErrorOf(error, path) ?? error;
  }
}

/** Reads a regular file. Pipes and devices, which a link may name, are refused, since reading them may never end. */
async function bytesOf(path: string, most: number): Promise<Uint8Array> {
  if (!(await stat(path)).isFile()) {
    throw new OperatorError(`${path} is no file.`, 'Copy the backup once more from where it was made.');
  }
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    if (size > most) {
      throw new OperatorError(
        `${path} has ${size} bytes; the backup says that it has no more than ${most}.`,
        'Copy the backup once more from where it was made, or take another.',
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

/** An existing backup in a directory. */
export const directorySource = (path: string): BackupSource => ({ location: path, read: readFrom(path) });

/** Writes a file whole. @param commit gives it its final name */
function written<T>(path: string, bytes: Uint8Array, commit: (file: WholeFile) => T): Promise<T> {
  return whileOnFile(path, async () => {
    // Its parent must exist: where a disk is not mounted, nothing is written to the one below.
    if (!existsSync(dirname(path))) mkdirSync(dirname(path), { mode: DIRECTORY_MODE });
    const file = wholeFile(path, FILE_MODE);
    try {
      writeFileSync(file.partial, bytes);
      return commit(file);
    } finally {
      file.discard();
    }
  });
}

/** The files of a directory, which is made with the first file; its parent must exist. @param given its path */
export function directoryFiles(given: string): Place {
  const path = resolve(given);
  return {
    ...directorySource(path),
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

async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'w', FILE_MODE);
  try {
    await file.writeFile(bytes);
    await file.datasync();
  } finally {
    await file.close();
  }
}

/** Name of the staging directory inside the partial backup. */
const WORKSHOP = 'copy';

/** @throws OperatorError if the directory has files that are not a backup's, since a new backup removes them all */
function requireOwn(partial: string): void {
  const names = onFile(partial, () => (existsSync(partial) ? readdirSync(partial) : []));
  const foreign = names.find((name) => name !== WORKSHOP && !isBackupFile(name));
  if (foreign === undefined) return;
  throw new OperatorError(
    `${partial} holds ${foreign}, which is of no backup, and would be removed.`,
    'Give the backup another name, or move that directory away.',
  );
}

/**
 * A new backup in a directory. It is made in a directory beside it, and renamed when it is complete.
 * @param given its path, in which `..` may follow a name that does not exist
 * @throws OperatorError if the path exists, or the directory beside it isn't a partial backup
 */
export function directoryTarget(given: string): BackupTarget {
  const path = resolve(given);
  const partial = `${path}.partial`;
  if (!existsSync(dirname(partial))) {
    throw new OperatorError(
      `There is no directory ${dirname(partial)}.`,
      'Create the directory, or give another path.',
    );
  }
  const requireFree = (): void => {
    if (onFile(path, () => statSync(path, { throwIfNoEntry: false })) === undefined) return;
    throw new OperatorError(`A file already exists at ${path}.`, 'Give another name, or remove the file.');
  };
  requireFree();
  requireOwn(partial);
  const staging = join(partial, WORKSHOP);
  return {
    location: path,
    staging,
    read: readFrom(partial),
    async begin() {
      requireFree();
      chmodSync(partial, DIRECTORY_MODE);
      // Parts of a process that was killed.
      const left = readdirSync(partial).filter((name) => join(partial, name) !== staging);
      for (const name of left) rmSync(join(partial, name), { recursive: true });
    },
    write: (name, bytes) => whileOnFile(join(partial, name), () => writeSynced(join(partial, name), bytes)),
    async finish() {
      onFile(path, () => {
        syncDirectory(partial);
        renameSync(partial, path);
        syncDirectory(dirname(partial));
      });
    },
    async discard() {
      rmSync(partial, { recursive: true, force: true });
    },
  };
}
