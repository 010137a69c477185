/**
 * The operator's own key: the first start makes it in the data directory, and the command line reads it there. Whoever may
 * read that directory has the index anyway. An operator may name a file in its place: hosts behind a balancer need the same
 * key.
 */
import { join } from 'node:path';
import { OperatorError } from '../base/errors.ts';
import { keptSecret, MADE_BYTES, madeSecret, secretFileText } from '../base/secret-file.ts';

const KEY = /^[0-9a-f]{64}$/;

/** The name of the file in a data directory that holds the admin key. */
export const ADMIN_KEY = 'admin.key';

/** Path of the file in a data directory that holds the admin key. */
export const adminKeyFile = (directory: string): string => join(directory, ADMIN_KEY);

/**
 * The admin key of a data directory, null where there is none.
 * @throws OperatorError where the file can't be read, or holds no key
 */
export function readAdminKey(directory: string): string | null {
  const file = adminKeyFile(directory);
  const key = keptSecret(file);
  if (key === null || KEY.test(key)) return key;
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
    `${file} holds no admin key, which has ${2 * MADE_BYTES} hex digits in lower case.`,
    `Make one with (umask 077; openssl rand -hex ${MADE_BYTES} > FILE), and give --admin-key the same file on all hosts.`,
  );
}

/**
 * The admin key of a data directory, made where there is none. For the process that holds the directory's lock.
 * @throws OperatorError where the file can't be read or written, or holds no key
 */
export const adminKeyOf = (directory: string): string => readAdminKey(directory) ?? madeSecret(adminKeyFile(directory));
