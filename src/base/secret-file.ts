/** Files in which operators keep secrets. */
import { readFileSync, statSync } from 'node:fs';
import { OperatorError } from './errors.ts';

/** The rights of users who are neither the file's owner nor of its group. */
const EVERYBODY = 0o007;

/**
 * The text of a file with a secret, without blanks around it.
 * @param flag the flag that names the file
 * @throws OperatorError where it can't be read, or every user may read it or write to it
 */
export function secretFileText(file: string, flag: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (cause) {
    throw new OperatorError(`${file} can't be read.`, `Check ${flag}.`, { cause });
  }
  // A group may be that of a service, as where an orchestrator mounts the file.
  if (process.platform !== 'win32' && (statSync(file).mode & EVERYBODY) !== 0) {
    throw new OperatorError(`Every user of this machine may read ${file} or write to it.`, `Run chmod 600 ${file}.`);
  }
  return text;
}
