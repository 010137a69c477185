/** Checks the signatures of a transaction (SIP-005, "Transaction signing and verifying"; SIP-027). */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { bytesEqual } from '../base/bytes-equal.ts';
import { BytesReader } from '../codec/bytes-reader.ts';
import { u32 } from '../codec/clarity-encode.ts';
import { hash160, sha256, sha512_256 } from '../codec/hash.ts';
import { AUTH, type MultiSignature, type SpendingCondition, type Transaction } from '../codec/transaction.ts';
import { concat, u8, u16, u64 } from './bytes.ts';

const { Point, Signature } = secp256k1;

const HASH_MODE = { p2pkh: 0, p2sh: 1, p2wpkh: 2, p2shUnordered: 5 } as const;
/** Offset of the authorization's content, after version, chain id and type. */
const AUTH_OFFSET = 6;
const NO_SIGNATURE = new Uint8Array(65);
const SIGNATURE_LENGTH = 65;
const KEY_LENGTH = 33;
/** Maximum keys of Bitcoin's OP_CHECKMULTISIG with an opcode for their number. */
const MAX_KEYS = 16;

/** Thrown if a signature is missing or invalid. */
export class SignatureError extends Error {
  override readonly name = 'SignatureError';
}

/** Returns a condition in the signed form: without nonce, fee and signatures. */
function clearCondition({ hashMode, signer, proof }: SpendingCondition): Uint8Array {
  const start = concat(u8(hashMode), signer, u64(0), u64(0));
  return proof.type === 'single'
    ? concat(start, u8(proof.keyEncoding), NO_SIGNATURE)
    : concat(start, u32(0), u16(proof.signaturesRequired));
}

/** The sponsor in the origin's signed form, which doesn't depend on the real sponsor. */
const BLANK_SPONSOR = concat(u8(HASH_MODE.p2pkh), new Uint8Array(20), u64(0), u64(0), u8(0), NO_SIGNATURE);

/** Returns the initial hash of the origin's signatures. @param raw the transaction's bytes */
function initialHash(raw: Uint8Array, { origin, sponsor, postConditions }: Transaction): Uint8Array {
  const rest = raw.subarray(postConditions.byteOffset - raw.byteOffset - 1);
  const blank = sponsor === null ? new Uint8Array() : BLANK_SPONSOR;
  return sha512_256(concat(raw.subarray(0, AUTH_OFFSET), clearCondition(origin), blank, rest));
}

/** Returns one link of the signatures: the signer's key, and the hash that the next signer signs. */
function link(
  hash: Uint8Array,
  flag: number,
  { fee, nonce }: SpendingCondition,
  encoding: number,
  signature: Uint8Array,
) {
  const digest = sha512_256(concat(hash, u8(flag), u64(fee), u64(nonce)));
  const key = recoverKey(signature, digest).toBytes(encoding === 0);
  return { key, next: sha512_256(concat(digest, u8(encoding), signature)) };
}

/** Returns the key that made a signature. @param signature recovery id, r and s @throws SignatureError */
function recoverKey(signature: Uint8Array, digest: Uint8Array) {
  try {
    const parsed = Signature.fromBytes(signature, 'recovered');
    if (!parsed.hasHighS()) return parsed.recoverPublicKey(digest);
  } catch (cause) {
    // The library throws errors without a type for invalid signatures, and only for these.
    throw new SignatureError('Failed to recover public key', { cause });
  }
  throw new SignatureError('Failed to recover public key: the signature has a high S');
}

function readKey(bytes: Uint8Array, encoding: number): Uint8Array {
  try {
    return Point.fromBytes(bytes).toBytes(encoding === 0);
  } catch (cause) {
    throw new SignatureError('A public key is not on the curve', { cause });
  }
}

interface Recovery {
  /** Hash160 of the signers. */
  readonly signer: Uint8Array;
  readonly next: Uint8Array;
}

function recoverSigners(hash: Uint8Array, flag: number, condition: SpendingCondition, proof: MultiSignature): Recovery {
  const isOrdered = condition.hashMode < HASH_MODE.p2shUnordered;
  const reader = new BytesReader(proof.fields);
  const count = reader.count('auth fields');
  if (count > MAX_KEYS) throw new SignatureError(`More than ${MAX_KEYS} keys`);
  const keys: Uint8Array[] = [];
  let [signatures, linkHash] = [0, hash];
  for (let left = count; left > 0; left--) {
    const field = reader.u8('an auth field');
    const encoding = field % 2;
    if (field < 2) {
      keys.push(readKey(reader.span(KEY_LENGTH, 'a key'), encoding));
      continue;
    }
    const { key, next } = link(linkHash, flag, condition, encoding, reader.span(SIGNATURE_LENGTH, 'a signature'));
    if (isOrdered) linkHash = next;
    keys.push(key);
    signatures += 1;
  }
  const { signaturesRequired } = proof;
  if (isOrdered ? signatures !== signaturesRequired : signatures < signaturesRequired) {
    throw new SignatureError('Incorrect number of signatures');
  }
  return { signer: scriptHash(condition.hashMode, signaturesRequired, keys), next: linkHash };
}

/** Returns the hash of the script OP_m, keys, OP_n, OP_CHECKMULTISIG, by the hash mode. */
function scriptHash(hashMode: number, required: number, keys: readonly Uint8Array[]): Uint8Array {
  if (required > MAX_KEYS) throw new SignatureError(`More than ${MAX_KEYS} signatures`);
  const op = (number: number) => u8(number === 0 ? 0 : 0x50 + number);
  const script = concat(op(required), ...keys.flatMap((key) => [u8(key.length), key]), op(keys.length), u8(0xae));
  const isPlain = hashMode === HASH_MODE.p2sh || hashMode === HASH_MODE.p2shUnordered;
  return hash160(isPlain ? script : concat(u8(0x00), u8(0x20), sha256(script)));
}

/** Checks the signatures of a condition. @returns the hash that the next signer signs @throws SignatureError */
function checkCondition(hash: Uint8Array, flag: number, condition: SpendingCondition): Uint8Array {
  const { proof, hashMode, signer } = condition;
  let recovery: Recovery;
  if (proof.type === 'multi') recovery = recoverSigners(hash, flag, condition, proof);
  else {
    const { key, next } = link(hash, flag, condition, proof.keyEncoding, proof.signature);
    const keyHash = hash160(key);
    recovery = { signer: hashMode === HASH_MODE.p2pkh ? keyHash : hash160(concat(u8(0x00), u8(0x14), keyHash)), next };
  }
  if (bytesEqual(recovery.signer, signer)) return recovery.next;
  const [recovered, stated] = [recovery.signer.toHex(), signer.toHex()];
  throw new SignatureError(`Signer hash does not equal hash of public key(s): ${recovered} != ${stated}`);
}

/**
 * Checks all signatures of a transaction.
 * @param raw the transaction's bytes
 * @throws SignatureError
 */
export function checkSignatures(raw: Uint8Array, transaction: Transaction): void {
  // The origin signs with the standard flag, even in sponsored transactions.
  const next = checkCondition(initialHash(raw, transaction), AUTH.standard, transaction.origin);
  if (transaction.sponsor !== null) checkCondition(next, AUTH.sponsored, transaction.sponsor);
}
