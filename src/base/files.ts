/**
 * Files that exist whole or not at all: each is written to a second file beside it, synced, and renamed. Among them are those
 * in which operators and servers keep secrets.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
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

/** A path without links; names that nothing has stay as they are. */
function withoutLinks(path: string): string {
  const whole = resolve(path);
  return existsSync(whole) ? realpathSync(whole) : join(withoutLinks(dirname(whole)), basename(whole));
}

/** Whether two paths lead to one file or directory. */
export const isSamePath = (a: string, b: string): boolean => withoutLinks(a) === withoutLinks(b);

/** Whether a path leads to a directory, or to something inside it; neither has to exist. */
export function isInside(path: string, directory: string): boolean {
  const way = relative(withoutLinks(directory), withoutLinks(path));
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

export interface WholeFile {
  /** The final path. */
  readonly path: string;
  /** The path to write to until the file is whole. An empty file exists there from the start. */
  readonly partial: string;
  /** Renames the partial file to the final path, and replaces a file that exists there. @throws OperatorError */
  commit(): void;
  /** Whether the file is at its final path, which is so even where the rename could not be synced to the disk. */
  isInPlace(): boolean;
  /** Removes the partial file unless it was committed. A file at the final path stays. */
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
  let inPlace = false;
  const close = (): void => {
    if (open) closeSync(file);
    open = false;
  };
  /** Another process that writes the same file has put its own there. */
  const isOurs = (): boolean => statSync(partial, { throwIfNoEntry: false })?.ino === ino;
  return {
    path,
    partial,
    commit() {
      onFile(path, () => {
        fsyncSync(file);
        if (!isOurs())
          throw new OperatorError(`Another process writes ${path}, too.`, 'Let one of the two finish first.');
        close();
        renameSync(partial, place);
        inPlace = true;
        syncDirectory(dirname(place));
      });
    },
    isInPlace: () => inPlace,
    discard() {
      if (!inPlace && isOurs()) rmSync(partial);
      close();
    },
  };
}

/** The rights of users who are neither the file's owner nor of its group. */
const EVERYBODY = 0o007;
/** The user alone reads and writes it. */
const OWN = 0o600;
/** Random bytes of a secret that is made. */
export const MADE_BYTES = 32;

/**
 * The text of a file with a secret that an operator named, without blanks around it.
 * @param flag the flag that names the file
 * @throws OperatorError where it can't be read, or every user may read it or write to it
 */
export function secretFileText(file: string, flag: string): string {
  let text: string;
  let mode: number;
  try {
    text = readFileSync(file, 'utf8').trim();
    ({ mode } = statSync(file));
  } catch (cause) {
    throw new OperatorError(`${file} can't be read.`, `Check ${flag}.`, { cause });
  }
  // A group may be that of a service, as where an orchestrator mounts the file.
  if (process.platform !== 'win32' && (mode & EVERYBODY) !== 0) {
    throw new OperatorError(`Every user of this machine may read ${file} or write to it.`, `Run chmod 600 ${file}.`);
  }
  return text;
}

/**
 * The text of a file with a secret in a data directory, without blanks around it; null where there is no such file. The
 * directory itself is the owner's alone.
 * @throws OperatorError where it can't be read
 */
export function storedSecret(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (cause) {
    if (hasCode(cause, 'ENOENT')) return null;
    throw new OperatorError(`${file} can't be read.`, 'Run the command as the user that stackside serve runs as.', {
      cause,
    });
  }
}

function writeSecret(path: string, text: string): void {
  const file = wholeFile(path, OWN);
  try {
    writeFileSync(file.partial, `${text}\n`);
    file.commit();
  } catch (error) {
    file.discard();
    throw error;
  }
}

/**
 * Makes a secret in a file of a data directory. For the process that holds the directory's lock.
 * @returns its text, the hex digits of random bytes
 * @throws OperatorError where the file can't be written
 */
export function madeSecret(file: string): string {
  const text = crypto.getRandomValues(new Uint8Array(MADE_BYTES)).toHex();
  try {
    writeSecret(file, text);
  } catch (cause) {
    const known = operatorErrorOf(cause, file);
    if (known instanceof DiskFullError) throw known;
    throw new OperatorError(`${file} can't be written.`, 'Let this user write to the data directory.', { cause });
  }
  return text;
}
