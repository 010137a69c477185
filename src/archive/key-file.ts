/** The private key of a public archive, in a file of the data directory. Backups and archives never contain it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../base/errors.ts';
import { storedSecret, wholeFile } from '../base/files.ts';
import { FILE_MODE, makePrivateDirectory } from '../store/files/private-files.ts';
import { newPrivateKey, parseSigner, type Signer } from './signing.ts';

/** Name of the key file in a data directory. */
export const ARCHIVE_KEY = 'archive.key';

const keyFile = (directory: string): string => join(directory, ARCHIVE_KEY);

/** Returns the signer of a data directory; null without a key file. @throws OperatorError if the file is unreadable or invalid */
function loadSigner(directory: string): Signer | null {
  const text = storedSecret(keyFile(directory));
  if (text === null) return null;
  const signer = parseSigner(text);
  if (signer !== null) return signer;
  throw new OperatorError(
    `${keyFile(directory)} holds no Ed25519 key in PKCS#8 and PEM.`,
    'Put back the file as it was. With a new key, everybody who reads the archive needs the new public key.',
  );
}

/**
 * Like {@link loadSigner}, but creates the key if there is none. If several processes do so at the same time, only one
 * succeeds.
 * @throws OperatorError if the file can't be read or written, or has no key
 */
export function loadOrCreateSigner(directory: string): Signer {
  const signer = loadSigner(directory);
  if (signer !== null) return signer;
  makePrivateDirectory(directory);
  const file = wholeFile(keyFile(directory), FILE_MODE);
  try {
    writeFileSync(file.partial, `${newPrivateKey()}\n`);
    file.commitNew();
  } finally {
    file.discard();
  }
  return loadOrCreateSigner(directory);
}

/** Like {@link loadSigner}. @throws OperatorError also if there is no key */
export function loadRequiredSigner(directory: string): Signer {
  const signer = loadSigner(directory);
  if (signer !== null) return signer;
  throw new OperatorError(
    `Can't sign the public archive: ${keyFile(directory)} is missing.`,
    'Create it with stackside archive key. In a cluster, copy the file of another host: all hosts need the same one.',
  );
}

/**
 * Returns the signer of a server. A host of a cluster doesn't create a key, because all hosts share the archive's key.
 * @param isShared whether the server is a host of a cluster
 * @throws OperatorError if the file can't be read or written, has no key, or is missing on a host of a cluster
 */
export const loadServerSigner = (directory: string, isShared: boolean): Signer =>
  isShared ? loadRequiredSigner(directory) : loadOrCreateSigner(directory);
