/**
 * Atomic writes of files: a temporary file in the same directory is written, synced, and renamed. Also reads and
 * creates files with secrets.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { DiskFullError, hasCode, OperatorError } from './errors.ts';
import { onFile, operatorErrorOf } from './system-errors.ts';

/** Resolves symbolic links; parts of the path that don't exist are unchanged. */
function withoutLinks(path: string): string {
  const absolutePath = resolve(path);
  return existsSync(absolutePath)
    ? realpathSync(absolutePath)
    : join(withoutLinks(dirname(absolutePath)), basename(absolutePath));
}

/**
 * Reports whether a path exists. `existsSync` also returns false if this user may not look into the directory.
 * @throws OperatorError if the path can't be looked up
 */
export const isPresent = (path: string): boolean =>
  onFile(path, () => statSync(path, { throwIfNoEntry: false }) !== undefined);

/** Reports whether two paths lead to the same file or directory. */
export const isSamePath = (a: string, b: string): boolean => withoutLinks(a) === withoutLinks(b);

/** Reports whether a path leads to a directory or into it. Neither has to exist. */
export function isInside(path: string, directory: string): boolean {
  const relativePath = relative(withoutLinks(directory), withoutLinks(path));
  return relativePath !== '..' && !relativePath.startsWith(`..${sep}`) && !isAbsolute(relativePath);
}

/** Syncs a directory, so that its entries survive a power loss. */
export function syncDirectory(path: string): void {
  // Windows can't sync directories.
  if (process.platform === 'win32') return;
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/**
 * Starts an atomic write of a file.
 * @param path final path; a symbolic link is followed
 * @param mode of the file, minus the umask
 * @throws OperatorError if it can't be written
 */
export function wholeFile(path: string, mode = 0o666) {
  const directory = dirname(path);
  if (!existsSync(directory)) {
    throw new OperatorError(`The directory ${directory} doesn't exist.`, 'Create the directory, or give another path.');
  }
  const target = existsSync(path) ? realpathSync(path) : path;
  const partial = `${target}.partial`;
  const file = onFile(partial, () => {
    // A killed process may have left its temporary file.
    rmSync(partial, { force: true });
    return openSync(partial, 'wx', mode);
  });
  const { ino } = fstatSync(file);
  let open = true;
  let inPlace = false;
  const close = (): void => {
    if (open) closeSync(file);
    open = false;
  };
  /** Returns false if another process that writes the same file has replaced the temporary file. */
  const isOurs = (): boolean => statSync(partial, { throwIfNoEntry: false })?.ino === ino;
  /** @param move gives the temporary file its final path; returns false if it can't */
  const commit = (move: () => boolean): boolean =>
    onFile(path, () => {
      fsyncSync(file);
      if (!isOurs())
        throw new OperatorError(
          `Another process is writing ${path}.`,
          'Wait until it has finished, and run the command again.',
        );
      close();
      inPlace = move();
      if (inPlace) syncDirectory(dirname(target));
      return inPlace;
    });
  return {
    path,
    /** Path of the temporary file, to write to. The file exists, empty, from the start. */
    partial,
    /** Syncs the temporary file and renames it to the final path. Replaces an existing file. @throws OperatorError */
    commit(): void {
      commit(() => {
        renameSync(partial, target);
        return true;
      });
    },
    /**
     * Syncs the temporary file and gives it the final path. If a file is there already, it stays unchanged, and the
     * caller must discard the temporary file.
     * @returns whether the file is at its final path now
     * @throws OperatorError
     */
    commitNew: (): boolean =>
      commit(() => {
        try {
          linkSync(partial, target);
        } catch (error) {
          if (hasCode(error, 'EEXIST')) return false;
          throw error;
        }
        rmSync(partial);
        return true;
      }),
    /** Removes the temporary file unless it was committed. A file at the final path is not touched. */
    discard(): void {
      if (!inPlace && isOurs()) rmSync(partial);
      close();
    },
  };
}
export type WholeFile = ReturnType<typeof wholeFile>;

/**
 * Writes a file completely or not at all. Replaces an existing file.
 * @param mode of the file, minus the umask
 * @throws OperatorError if it can't be written
 */
export function writeWhole(path: string, text: string | Uint8Array, mode?: number): void {
  const file = wholeFile(path, mode);
  try {
    onFile(path, () => writeFileSync(file.partial, text));
    file.commit();
  } finally {
    file.discard();
  }
}

/** Permissions of users other than the file's owner and group. */
const OTHERS_MASK = 0o007;
/** Only the owner may read and write. */
const OWNER_ONLY = 0o600;
/** Number of random bytes of a generated secret. */
export const SECRET_BYTES = 32;

/** Reads from a file that the operator named. @throws OperatorError with the reason and a remedy */
function readNamedFile<T>(file: string, remedy: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new OperatorError(operatorErrorOf(cause, file)?.message ?? `${file} can't be read.`, remedy, { cause });
  }
}

/**
 * Reads a file that the operator named.
 * @param remedy the operator's next step if it can't be read
 * @throws OperatorError with the reason
 */
export const fileText = (file: string, remedy: string): string =>
  readNamedFile(file, remedy, () => readFileSync(file, 'utf8'));

/**
 * Reads a file with a secret that a flag names, trimmed.
 * @param flag the flag that names the file
 * @throws OperatorError if it can't be read, or if every user may read or write it
 */
export function secretFileText(file: string, flag: string): string {
  const [text, mode] = readNamedFile(file, `Check ${flag}.`, () => {
    const descriptor = openSync(file, 'r');
    try {
      return [readFileSync(descriptor, 'utf8').trim(), fstatSync(descriptor).mode] as const;
    } finally {
      closeSync(descriptor);
    }
  });
  // The group may read: orchestrators mount secrets for the group of a service.
  if (process.platform !== 'win32' && (mode & OTHERS_MASK) !== 0) {
    throw new OperatorError(`Every user of this machine may read ${file} or write to it.`, `Run chmod 600 ${file}.`);
  }
  return text;
}

/**
 * Reads a file with a secret in a data directory, trimmed; returns null if there is no such file. Doesn't check the
 * permissions, because only the owner can access the directory.
 * @throws OperatorError if it can't be read
 */
export function storedSecret(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (cause) {
    if (hasCode(cause, 'ENOENT')) return null;
    throw new OperatorError(
      `${file} can't be read.`,
      'Change its owner or mode (chown, chmod), or run Stackside as the user that owns it.',
      { cause },
    );
  }
}

/**
 * Generates a secret in a file of a data directory. Call it only in the process that holds the directory's lock.
 * @param created called with the file once it is written
 * @returns the secret, random bytes in hex
 * @throws OperatorError if the file can't be written
 */
export function createSecret(file: string, created: (file: string) => void = () => {}): string {
  const text = crypto.getRandomValues(new Uint8Array(SECRET_BYTES)).toHex();
  try {
    writeWhole(file, `${text}\n`, OWNER_ONLY);
  } catch (cause) {
    const operatorError = operatorErrorOf(cause, file);
    if (operatorError instanceof DiskFullError) throw operatorError;
    throw new OperatorError(`${file} can't be written.`, 'Let this user write to the data directory.', { cause });
  }
  created(file);
  return text;
}
