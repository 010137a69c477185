/**
 * Signatures of public archives: Ed25519 (RFC 8032). A public key is written as `ed25519:` and its 32 bytes in base64 (RFC 4648,
 * section 4). What is signed is JSON in an envelope of DSSE, the Dead Simple Signing Envelope, version 1:
 *
 *     {"payloadType":"<type>","payload":"<base64>","signatures":[{"keyid":"ed25519:…","sig":"<base64>"}]}
 *
 * The signature is of these bytes, so that it counts for its type alone, and JSON is parsed only once its bytes are proven:
 *
 *     DSSEv1 <bytes of the type> <type> <bytes of the payload> <payload>
 *
 * `keyid` is a hint for messages, and proves nothing.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { parsedJson } from '../base/json.ts';
import { strictText } from '../codec/utf8.ts';

/** The text of a public key. */
export const PUBLIC_KEY = '^ed25519:[A-Za-z0-9+/]{43}=$';
const SCHEME = 'ed25519:';

/** Base64 as JSON Web Keys have it, and as it is written here. */
const toUrlBase64 = (text: string): string => Buffer.from(text, 'base64').toString('base64url');
const fromUrlBase64 = (text: string): string => Buffer.from(text, 'base64url').toString('base64');

const publicText = (key: KeyObject): string => SCHEME + fromUrlBase64(key.export({ format: 'jwk' }).x ?? '');

/** @param text as {@link PUBLIC_KEY} */
const publicKeyOf = (text: string): KeyObject =>
  createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: toUrlBase64(text.slice(SCHEME.length)) }, format: 'jwk' });

/** The holder of a private key. */
export interface Signer {
  /** The text of the public key. */
  publicKey: string;
  sign(bytes: Uint8Array): Uint8Array;
}

/** A new private key, in PKCS#8 and PEM (RFC 8410), as `openssl genpkey -algorithm ed25519` makes one. */
export const newPrivateKey = (): string =>
  String(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })).trim();

/** The signer with a private key as {@link newPrivateKey} has it. @returns null for any other text */
export function signerOf(pem: string): Signer | null {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    // The error has no type, and its code is that of the library below.
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

/** The bytes of an envelope. */
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

/** Reads an envelope, and verifies nothing. @returns null for bytes that are none */
export function envelopeOf(bytes: Uint8Array): Envelope | null {
  const envelope = parsedJson(strictText(bytes) ?? '');
  return Value.Check(Envelope, envelope) ? envelope : null;
}

/** The payload of an envelope, which nobody vouches for. */
export const unverifiedPayload = ({ payload }: Envelope): Buffer => Buffer.from(payload, 'base64');

/** The payload of an envelope of a type, if the holder of a key signed it. @param key as {@link PUBLIC_KEY} @returns null if not */
export function verifiedPayload(envelope: Envelope, type: string, key: string): Buffer | null {
  if (envelope.payloadType !== type) return null;
  const payload = unverifiedPayload(envelope);
  const [bytes, publicKey] = [signedBytes(type, payload), publicKeyOf(key)];
  const isSigned = envelope.signatures.some(({ sig }) => verify(null, bytes, publicKey, Buffer.from(sig, 'base64')));
  return isSigned ? payload : null;
}

/** The keys that an envelope says it is signed with, for messages. */
export const namedKeys = ({ signatures }: Envelope): string[] =>
  signatures.flatMap(({ keyid }) => (keyid !== undefined && new RegExp(PUBLIC_KEY).test(keyid) ? [keyid] : []));
