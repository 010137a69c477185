/**
 * Secrets that leave this host in its log are sealed: AES-256-GCM with a key that HKDF (RFC 5869, SHA-256) makes of a line of
 * a file, the same on all hosts. The key of the first line seals; those of all lines open, since a log keeps what was sealed
 * with a key that was replaced. A sealed secret is the id of its key (8 bytes), the nonce (12), the tag (16) and what was
 * sealed; the consumer is authenticated with it. One that isn't sealed has 32 bytes.
 */
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import { OperatorError } from '../../base/errors.ts';
import { secretFileText } from '../../base/secret-file.ts';
import type { Secrets } from '../../store/hooks/model.ts';
import type { HookStore } from '../../store/hooks/store.ts';
import { SECRET_BYTES } from './signature.ts';

const KEY_BYTES = 32;
const ID_BYTES = 8;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';
/** The fewest characters of a key's text: 32 hex digits have 128 bits. */
const LEAST_TEXT = 32;

/** A signing secret that can't be opened with this host's key. */
export class SealedSecretError extends OperatorError {
  constructor(consumer: string, hasKey: boolean) {
    super(
      `The signing secret of the consumer ${consumer} is sealed with ${hasKey ? 'another key than this host has' : 'a key, and this host has none'}.`,
      'Give --cluster-key the file that the hosts of the cluster have.',
    );
  }
}

/** Seals secrets, and opens them again. */
export interface Sealing {
  /** Null without a key. */
  seal: ((consumer: string, secret: Uint8Array) => Uint8Array) | null;
  /** @param stored a secret that may be sealed @throws SealedSecretError */
  open(consumer: string, stored: Uint8Array): Uint8Array;
}

/** Opens only what isn't sealed, as hosts without a key do. */
export const unsealed: Sealing = {
  seal: null,
  open(consumer, stored) {
    if (stored.length === SECRET_BYTES) return stored;
    throw new SealedSecretError(consumer, false);
  },
};

interface Key {
  id: Buffer;
  key: Buffer;
}

function keyOf(text: string): Key {
  const made = Buffer.from(hkdfSync('sha256', text, 'stackside', 'signing secrets', KEY_BYTES + ID_BYTES));
  return { key: made.subarray(0, KEY_BYTES), id: made.subarray(KEY_BYTES) };
}

function sealedWith({ key, id }: Key, consumer: string, secret: Uint8Array): Uint8Array {
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(consumer));
  const sealed = Buffer.concat([cipher.update(secret), cipher.final()]);
  return Buffer.concat([id, nonce, cipher.getAuthTag(), sealed]);
}

function openedWith({ key }: Key, consumer: string, bytes: Buffer): Uint8Array {
  const [nonce, rest] = [bytes.subarray(ID_BYTES, ID_BYTES + NONCE_BYTES), bytes.subarray(ID_BYTES + NONCE_BYTES)];
  const decipher = createDecipheriv(CIPHER, key, nonce)
    .setAAD(Buffer.from(consumer))
    .setAuthTag(rest.subarray(0, TAG_BYTES));
  return Buffer.concat([decipher.update(rest.subarray(TAG_BYTES)), decipher.final()]);
}

/** @param texts what the keys are made of: the first seals, and all of them open */
export function sealingWith(...texts: [string, ...string[]]): Sealing {
  const [first] = texts;
  const newest = keyOf(first);
  const keys = texts.map(keyOf);
  return {
    seal: (consumer, secret) => sealedWith(newest, consumer, secret),
    open(consumer, stored) {
      if (stored.length === SECRET_BYTES) return stored;
      const bytes = Buffer.from(stored);
      const key = keys.find(({ id }) => bytes.subarray(0, ID_BYTES).equals(id));
      if (key === undefined) throw new SealedSecretError(consumer, true);
      return openedWith(key, consumer, bytes);
    },
  };
}

/**
 * @param file the file of `--cluster-key`; null where none is given
 * @throws OperatorError where it can't be read, everybody may read it, or it is too short
 */
export function sealingOf(file: string | null): Sealing {
  if (file === null) return unsealed;
  const text = secretFileText(file, '--cluster-key');
  const [first = '', ...others] = text.split('\n').map((line) => line.trim());
  if ([first, ...others].every(({ length }) => length >= LEAST_TEXT)) return sealingWith(first, ...others);
  throw new OperatorError(
    `${file} holds a line of fewer than ${LEAST_TEXT} characters, which is no key.`,
    'Make one with openssl rand -hex 32, and give the same file to all hosts.',
  );
}

/** The secrets of consumers, opened. */
export type OpenedSecrets = Pick<HookStore['secrets'], 'find'>;

export const openedSecrets = ({ find }: HookStore['secrets'], { open }: Sealing): OpenedSecrets => ({
  find(consumer): Secrets | undefined {
    const found = find(consumer);
    if (found === undefined) return undefined;
    const previous = found.previous === null ? null : open(consumer, found.previous);
    return { ...found, secret: open(consumer, found.secret), previous };
  },
});

/** Knows before anything is signed what can't be opened. @throws SealedSecretError */
export function requireOpened(stored: HookStore['secrets'], sealing: Sealing): void {
  const secrets = openedSecrets(stored, sealing);
  for (const consumer of stored.consumers()) secrets.find(consumer);
}
