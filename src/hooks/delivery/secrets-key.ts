/**
 * The key that signing secrets are sealed with. A single host makes one in its data directory, as it makes the admin key; an
 * operator may name a file in its place. It is read when the server starts. Without a key that opens them, deliveries wait
 * and the chain goes on.
 */
import { join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';
import { keptSecret, madeSecret, secretFileText } from '../../base/files.ts';
import type { HookLog } from '../log-event.ts';
import { type Sealing, sealingWith } from './sealing.ts';

/** The name of the file in a data directory that holds the key. */
export const SECRETS_KEY = 'secrets.key';

/** Path of the file in a data directory that holds the key of signing secrets. */
export const secretsKeyFile = (directory: string): string => join(directory, SECRETS_KEY);

/** The fewest characters of a key's text: 32 hex digits have 128 bits. */
const LEAST_TEXT = 32;

/** @throws OperatorError where a line is too short, or there is none */
function sealingOf(file: string, text: string): Sealing {
  const lines = text.split('\n').map((line) => line.trim());
  if (lines.every(({ length }) => length >= LEAST_TEXT)) return sealingWith(...lines);
  throw new OperatorError(
    `${file} holds a line of fewer than ${LEAST_TEXT} characters, which is no key.`,
    'Put back the file as it was. If it is lost: remove it, or make one with openssl rand -hex 32 that all hosts of a cluster get; secrets that another key sealed are then made anew.',
  );
}

/** Where the key of a server is. */
export interface KeyPlace {
  data: string;
  /** The file that the operator named; null for the one in the data directory. */
  clusterKey: string | null;
}

/**
 * What seals with the key of a data directory, or of the file that the operator named; null where there is no such file in
 * the directory.
 * @throws OperatorError where the file can't be read, every user may read the one that was named, or it holds no key
 */
export function keptSealing({ data, clusterKey }: KeyPlace): Sealing | null {
  if (clusterKey !== null) return sealingOf(clusterKey, secretFileText(clusterKey, '--cluster-key'));
  const file = secretsKeyFile(data);
  const text = keptSecret(file);
  return text === null ? null : sealingOf(file, text);
}

/**
 * As `keptSealing`, with a key that is made where there is none. For the process that holds the directory's lock.
 * @throws OperatorError where the file can't be read or written, or holds no key
 */
export const madeSealing = (place: KeyPlace): Sealing =>
  keptSealing(place) ?? sealingWith(madeSecret(secretsKeyFile(place.data)));

/**
 * What a server seals with. A host of a cluster makes no key, which the others would not have.
 * @param isShared whether it is a host of a cluster
 */
export function servedSealing(place: KeyPlace, isShared: boolean, log: HookLog): Sealing {
  try {
    if (!isShared) return madeSealing(place);
    const kept = keptSealing(place);
    if (kept !== null) return kept;
    throw new OperatorError(
      `This host has no key for signing secrets: there is no ${secretsKeyFile(place.data)}.`,
      'Copy the file of another host there, or name it with --cluster-key, and restart.',
    );
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    log({ event: 'hook_key_unusable', problem: error.message, remedy: error.remedy });
    return sealingWith();
  }
}
