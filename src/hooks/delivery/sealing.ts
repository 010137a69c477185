/**
 * Signing secrets are stored encrypted ("sealed"), in commands and in tables: AES-256-GCM with a key that HKDF (RFC 5869,
 * SHA-256) derives from a line of a key file. A single host has a separate file; all hosts of a cluster have the same. The key
 * of the first line seals, and all keys open, so that a key can be replaced. A sealed secret is the id of its key (8 bytes),
 * the nonce (12), the tag (16) and the ciphertext; the consumer's name is authenticated with it.
 */
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import { join } from 'node:path';
import { OperatorError } from '../../base/errors.ts';
import { createSecret, secretFileText, storedSecret } from '../../base/files.ts';
import type { Secrets } from '../../store/hooks/model.ts';
import type { HookReads } from '../../store/hooks/store.ts';
import { HookProblem } from '../problem.ts';
import type { HookLog } from '../reporting.ts';

const KEY_BYTES = 32;
const ID_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';

export interface Sealing {
  /** @throws HookProblem 409 without a key */
  seal(consumer: string, secret: Uint8Array): Uint8Array;
  /** Opens a sealed secret. @returns null if no key opens it */
  open(consumer: string, sealed: Uint8Array): Uint8Array | null;
}

interface Key {
  id: Buffer;
  key: Buffer;
}

function deriveKey(text: string): Key {
  const derived = Buffer.from(hkdfSync('sha256', text, 'stackside', 'signing secrets', KEY_BYTES + ID_BYTES));
  return { key: derived.subarray(0, KEY_BYTES), id: derived.subarray(KEY_BYTES) };
}

function sealSecret({ key, id }: Key, consumer: string, secret: Uint8Array): Uint8Array {
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(consumer));
  const sealed = Buffer.concat([cipher.update(secret), cipher.final()]);
  return Buffer.concat([id, nonce, cipher.getAuthTag(), sealed]);
}

function openSecret({ key }: Key, consumer: string, sealed: Buffer): Uint8Array | null {
  const [nonce, rest] = [sealed.subarray(ID_BYTES, ID_BYTES + NONCE_BYTES), sealed.subarray(ID_BYTES + NONCE_BYTES)];
  if (rest.length < TAG_BYTES) return null;
  const decipher = createDecipheriv(CIPHER, key, nonce)
    .setAAD(Buffer.from(consumer))
    .setAuthTag(rest.subarray(0, TAG_BYTES));
  const opened = decipher.update(rest.subarray(TAG_BYTES));
  try {
    return Buffer.concat([opened, decipher.final()]);
  } catch {
    // Node's error lacks a type and a code here. The bytes were not sealed for this consumer.
    return null;
  }
}

/** Makes the sealing of key texts: the first seals, all open. Without texts, nothing can be sealed. */
export function makeSealing(...texts: readonly string[]): Sealing {
  const keys = texts.map(deriveKey);
  const [newest] = keys;
  return {
    seal(consumer, secret) {
      if (newest !== undefined) return sealSecret(newest, consumer, secret);
      throw new HookProblem(
        409,
        "This server can't encrypt secrets; the operator finds the reason in the server's log",
      );
    },
    open(consumer, sealed) {
      const bytes = Buffer.from(sealed);
      const key = keys.find(({ id }) => bytes.subarray(0, ID_BYTES).equals(id));
      return key === undefined ? null : openSecret(key, consumer, bytes);
    },
  };
}

const UNREADABLE =
  "The signing secret can't be read with the key that this server has. Make a new secret or delete it, or have the operator give the server its key";

const MAX_LISTED = 10;

export type SecretReader = ReturnType<typeof secretReader>;

/** Opens the stored secrets of consumers on demand. */
export function secretReader(stored: HookReads['secrets'], { open }: Sealing, log: HookLog) {
  /** Consumers that the log has named. */
  let reported = new Set<string>();

  /** Returns whether the deliveries of a consumer can be sent: with a signature, or without a secret. */
  function isReadable(consumer: string): boolean {
    const secrets = stored.find(consumer);
    if (secrets !== undefined && open(consumer, secrets.secret) === null) return false;
    reported.delete(consumer);
    return true;
  }

  /** Returns the consumers with a secret that can't be opened. */
  const unreadable = (): string[] =>
    stored.all().flatMap(({ consumer, secret }) => (open(consumer, secret) === null ? [consumer] : []));

  /** Logs the consumers with secrets that can't be opened, unless the log has named all of them. */
  function report(): void {
    const now = unreadable();
    const isNews = now.some((consumer) => !reported.has(consumer));
    reported = new Set(now);
    if (isNews) log({ event: 'hook_secrets_unreadable', count: now.length, consumers: now.slice(0, MAX_LISTED) });
  }

  return {
    isReadable,
    unreadable,
    report,
    /** Whether deliveries of a consumer can be sent; if not, logs it once. */
    canSign(consumer: string): boolean {
      if (isReadable(consumer)) return true;
      if (!reported.has(consumer)) report();
      return false;
    },
    /** The previous secret is omitted if it can't be opened. @throws HookProblem if the secret can't be opened */
    find(consumer: string, { find }: Pick<HookReads['secrets'], 'find'> = stored): Secrets | undefined {
      const secrets = find(consumer);
      if (secrets === undefined) return undefined;
      const secret = open(consumer, secrets.secret);
      if (secret === null) throw new HookProblem(409, UNREADABLE);
      return { ...secrets, secret, previous: secrets.previous === null ? null : open(consumer, secrets.previous) };
    },
  };
}

/**
 * Name of the key file in a data directory. A single host makes it, like the admin key; the operator may name another file.
 * It is read when the server starts. Without the right key, deliveries wait, while blocks are still processed.
 */
export const SECRETS_KEY = 'secrets.key';

/** Path of the key file for signing secrets in a data directory. */
export const secretsKeyFile = (directory: string): string => join(directory, SECRETS_KEY);

/** Minimum characters of a key's text: 32 hex digits have 128 bits. */
const MIN_TEXT = 32;

/** @throws OperatorError if a line is too short, or there is none */
function parseSealing(file: string, text: string): Sealing {
  const lines = text.split('\n').map((line) => line.trim());
  if (lines.every(({ length }) => length >= MIN_TEXT)) return makeSealing(...lines);
  throw new OperatorError(
    `${file} has a line with fewer than ${MIN_TEXT} characters, which can't be a key.`,
    'Restore the file. If it is lost, delete it; in a cluster, create one with openssl rand -hex 32 and copy it to all hosts. Consumers then need new secrets.',
  );
}

/** Location of a server's key file. */
export interface KeyLocation {
  data: string;
  /** The file that the operator named; null for the one in the data directory. */
  clusterKey: string | null;
}

/**
 * Returns the sealing with the key file that the operator named, or else the data directory's; null if the directory has none.
 * @throws OperatorError if the file can't be read, if every user may read the named file, or if it lacks a key
 */
export function loadSealing({ data, clusterKey }: KeyLocation): Sealing | null {
  if (clusterKey !== null) return parseSealing(clusterKey, secretFileText(clusterKey, '--cluster-key'));
  const file = secretsKeyFile(data);
  const text = storedSecret(file);
  return text === null ? null : parseSealing(file, text);
}

/**
 * Like `loadSealing`, but makes the key file if there is none. Only for the process that has the directory's lock.
 * @param created called with the file if a key is made
 * @throws OperatorError if the file can't be read or written, or holds no key
 */
export const loadOrCreateSealing = (location: KeyLocation, created?: (file: string) => void): Sealing =>
  loadSealing(location) ?? makeSealing(createSecret(secretsKeyFile(location.data), created));

/**
 * The sealing of a server. A host of a cluster doesn't make a key, since the other hosts would lack it.
 * @param isShared whether the server is a host of a cluster
 */
export function sealingForServer(location: KeyLocation, isShared: boolean, log: HookLog): Sealing {
  try {
    if (!isShared) return loadOrCreateSealing(location, (file) => log({ event: 'key_created', file }));
    const sealing = loadSealing(location);
    if (sealing !== null) return sealing;
    throw new OperatorError(
      `The key for signing secrets is missing: ${secretsKeyFile(location.data)} doesn't exist.`,
      'Copy the file from another host, or name it with --cluster-key, and restart.',
    );
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    log({ event: 'hook_key_unusable', problem: error.message, remedy: error.remedy });
    return makeSealing();
  }
}
