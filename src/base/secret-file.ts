/** Files in which operators and servers keep secrets. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { DiskFullError, hasCode, OperatorError } from './errors.ts';
import { operatorErrorOf } from './system-errors.ts';
import { wholeFile } from './whole-file.ts';

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
export function keptSecret(file: string): string | null {
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
    file.keep();
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
