/**
 * The operator's own key: the first start makes it in the data directory, and the command line reads it there. Whoever may
 * read that directory has the index and the secrets in it anyway. An operator may name a file in its place: hosts behind a
 * balancer need the same key.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DiskFullError, hasCode, OperatorError } from '../base/errors.ts';
import { secretFileText } from '../base/secret-file.ts';
import { operatorErrorOf } from '../base/system-errors.ts';
import { wholeFile } from '../base/whole-file.ts';
import { toHex } from '../codec/hex.ts';

const KEY_BYTES = 32;
const KEY = /^[0-9a-f]{64}$/;
/** The user alone reads and writes it. */
const OWN = 0o600;

/** Path of the file in a data directory that holds the admin key. */
export const adminKeyFile = (directory: string): string => join(directory, 'admin.key');

/**
 * The admin key of a data directory, null where there is none.
 * @throws OperatorError where the file can't be read, or holds no key
 */
export function readAdminKey(directory: string): string | null {
  const file = adminKeyFile(directory);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    if (hasCode(cause, 'ENOENT')) return null;
    throw new OperatorError(`${file} can't be read.`, 'Run the command as the user that stackside serve runs as.', {
      cause,
    });
  }
  const key = text.trim();
  if (KEY.test(key)) return key;
  throw new OperatorError(
    `${file} is damaged: it holds no admin key.`,
    'Delete the file; the next start of stackside serve creates another key.',
  );
}

/**
 * The admin key in a file that the operator named, and made.
 * @throws OperatorError where it can't be read, every user may read it, or it holds no key
 */
export function namedAdminKey(file: string): string {
  const key = secretFileText(file, '--admin-key');
  if (KEY.test(key)) return key;
  throw new OperatorError(
    `${file} holds no admin key, which has ${2 * KEY_BYTES} hex digits in lower case.`,
    `Make one with (umask 077; openssl rand -hex ${KEY_BYTES} > FILE), and give --admin-key the same file on all hosts.`,
  );
}

function writeAdminKey(directory: string, key: string): void {
  const file = wholeFile(adminKeyFile(directory), OWN);
  try {
    writeFileSync(file.partial, `${key}\n`);
    file.keep();
  } catch (error) {
    file.discard();
    throw error;
  }
}

/**
 * The admin key of a data directory, made where there is none. For the process that holds the directory's lock.
 * @throws OperatorError where the file can't be read or written, or holds no key
 */
export function adminKeyOf(directory: string): string {
  const known = readAdminKey(directory);
  if (known !== null) return known;
  const key = toHex(crypto.getRandomValues(new Uint8Array(KEY_BYTES))).slice(2);
  try {
    writeAdminKey(directory, key);
  } catch (cause) {
    const known = operatorErrorOf(cause, adminKeyFile(directory));
    if (known instanceof DiskFullError) throw known;
    const problem = `${adminKeyFile(directory)} can't be written.`;
    throw new OperatorError(problem, 'Let this user write to the data directory.', { cause });
  }
  return key;
}
