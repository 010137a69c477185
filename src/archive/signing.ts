/**
 * Signatures of public archives: Ed25519 (RFC 8032). A public key is written as `ed25519:` and its 32 bytes in base64 (RFC
 * 4648, section 4). The signed payload is JSON in an envelope of DSSE, the Dead Simple Signing Envelope, version 1:
 *
 *     {"payloadType":"<type>","payload":"<base64>","signatures":[{"keyid":"ed25519:…","sig":"<base64>"}]}
 *
 * The signature covers these bytes. It is therefore valid only for its type, and a reader with a key verifies the bytes of the
 * JSON before parsing it:
 *
 *     DSSEv1 <bytes of the type> <type> <bytes of the payload> <payload>
 *
 * `keyid` is only a hint for messages and proves nothing.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { OperatorError } from '../base/errors.ts';
import { storedSecret, wholeFile } from '../base/files.ts';
import { parsedJson } from '../base/json.ts';
import { strictText } from '../codec/utf8.ts';
import { FILE_MODE, makePrivateDirectory } from '../store/files/private-files.ts';

export const PUBLIC_KEY = '^ed25519:[A-Za-z0-9+/]{43}=$';
const SCHEME = 'ed25519:';

/** Converts between the base64url of JSON Web Keys and the base64 of public keys. */
const toUrlBase64 = (text: string): string => Buffer.from(text, 'base64').toString('base64url');
const fromUrlBase64 = (text: string): string => Buffer.from(text, 'base64url').toString('base64');

const publicText = (key: KeyObject): string => SCHEME + fromUrlBase64(key.export({ format: 'jwk' }).x ?? '');

/** @param text as {@link PUBLIC_KEY} */
const parsePublicKey = (text: string): KeyObject =>
  createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: toUrlBase64(text.slice(SCHEME.length)) }, format: 'jwk' });

export interface Signer {
  publicKey: string;
  sign(bytes: Uint8Array): Uint8Array;
}

/** Makes a private key in PKCS#8 and PEM (RFC 8410), in the format of `openssl genpkey -algorithm ed25519`. */
export const newPrivateKey = (): string =>
  String(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })).trim();

/** Returns the signer for a private key in the format of {@link newPrivateKey}. @returns null for any other text */
export function parseSigner(pem: string): Signer | null {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    // The error has no specific type, and its code comes from the underlying crypto library.
    return null;
  }
  if (key.asymmetricKeyType !== 'ed25519') return null;
  return { publicKey: publicText(createPublicKey(key)), sign: (bytes) => sign(null, bytes, key) };
}

const Envelope = Type.Object({
  payloadType: Type.String(),
  payload: Type.String(),
  signatures: Type.Array(Type.Object({ keyid: Type.Optional(Type.String()), sig: Type.String() })),
});
/** A payload with its signatures. */
export type Envelope = Static<typeof Envelope>;

const signedBytes = (type: string, payload: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from(`DSSEv1 ${Buffer.byteLength(type)} ${type} ${payload.length} `), payload]);

/** Signs a payload and returns the bytes of its envelope. */
export function envelopeBytes(type: string, payload: Uint8Array, signer: Signer): Buffer {
  const envelope: Envelope = {
    payloadType: type,
    payload: Buffer.from(payload).toString('base64'),
    signatures: [
      { keyid: signer.publicKey, sig: Buffer.from(signer.sign(signedBytes(type, payload))).toString('base64') },
    ],
  };
  return Buffer.from(`${JSON.stringify(envelope)}\n`);
}

/** Parses an envelope without verifying its signatures. @returns null if the bytes aren't an envelope */
export function parseEnvelope(bytes: Uint8Array): Envelope | null {
  const envelope = parsedJson(strictText(bytes) ?? '');
  return Value.Check(Envelope, envelope) ? envelope : null;
}

/** Returns the payload of an envelope without verifying its signatures. */
export const unverifiedPayload = ({ payload }: Envelope): Buffer => Buffer.from(payload, 'base64');

/** Returns the payload of an envelope of a type, if a key signed it; null if not. @param key as {@link PUBLIC_KEY} */
export function verifiedPayload(envelope: Envelope, type: string, key: string): Buffer | null {
  if (envelope.payloadType !== type) return null;
  const payload = unverifiedPayload(envelope);
  const [bytes, publicKey] = [signedBytes(type, payload), parsePublicKey(key)];
  const isSigned = envelope.signatures.some(({ sig }) => verify(null, bytes, publicKey, Buffer.from(sig, 'base64')));
  return isSigned ? payload : null;
}

/** Returns the keys that an envelope names as its signers, for messages. Nothing proves them. */
export const namedKeys = ({ signatures }: Envelope): string[] =>
  signatures.flatMap(({ keyid }) => (keyid !== undefined && new RegExp(PUBLIC_KEY).test(keyid) ? [keyid] : []));

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
 * @param created called with the file if a key is made
 * @throws OperatorError if the file can't be read or written, or has no key
 */
export function loadOrCreateSigner(directory: string, created: (file: string) => void = () => {}): Signer {
  const signer = loadSigner(directory);
  if (signer !== null) return signer;
  makePrivateDirectory(directory);
  const file = wholeFile(keyFile(directory), FILE_MODE);
  try {
    writeFileSync(file.partial, `${newPrivateKey()}\n`);
    if (file.commitNew()) created(keyFile(directory));
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
