import { secp256k1 } from '@noble/curves/secp256k1.js';
import { bytesToNumberBE, numberToBytesBE } from '@noble/curves/utils.js';
import { memoize } from '../base/cache.ts';
import { parseStacksAddress, stacksAddress } from '../codec/address.ts';
import { base58Address } from '../codec/bitcoin-address.ts';
import { hash160 } from '../codec/hash.ts';
import { concat, u8 } from './bytes.ts';
import type { Network } from './network.ts';
import { Prng } from './prng.ts';

const { Point } = secp256k1;
/**
 * The x coordinate of the base point, which has an even y. The recovery id of a signature is therefore 0, or 1 if its s
 * was negated.
 */
const BASE_X = Point.BASE.toAffine().x;

/** An account with a single signature (P2PKH, compressed key). */
export interface Account {
  readonly address: string;
  readonly privateKey: Uint8Array;
  /** 33 bytes, compressed. */
  readonly publicKey: Uint8Array;
  /** RIPEMD-160 of the SHA-256 of the public key, 20 bytes. */
  readonly hash160: Uint8Array;
}

/** Returns `count` accounts of a group, such as `user` or `miner`. Equal seeds and groups give equal accounts. */
export function accounts(seed: string, group: string, count: number, network: Network): Account[] {
  const keys = new Prng(`${seed}/keys/${group}`);
  return Array.from({ length: count }, () => accountOf(keys.bytes(32), network));
}

/**
 * Returns an account that the operator uses without its key.
 * @param address a single-signature address
 * @returns null for any other address
 */
export function impersonate(address: string, network: Network): Account | null {
  const parsed = parseStacksAddress(address);
  if (parsed?.version !== network.addressVersion) return null;
  // An arbitrary key: its signatures are invalid for every account.
  const privateKey = new Uint8Array(32).fill(1);
  return { address, privateKey, publicKey: publicKeyOf(privateKey.toHex()), hash160: parsed.hash160 };
}

/**
 * Cached by the private key in hex. Every chain of a seed has the same accounts, and a key takes a multiplication of
 * points.
 */
const publicKeyOf = memoize((privateKey) => secp256k1.getPublicKey(Uint8Array.fromHex(privateKey)));

/** Returns the account of a private key. */
export function accountOf(privateKey: Uint8Array, network: Network): Account {
  const publicKey = publicKeyOf(privateKey.toHex());
  const hash = hash160(publicKey);
  return { address: stacksAddress(network.addressVersion, hash), privateKey, publicKey, hash160: hash };
}

/**
 * Returns a recoverable signature over a 32-byte digest in Stacks' format: recovery id, r, s; 65 bytes, low S.
 *
 * The nonce of every signature is 1, so its point is the curve's base point, and signing needs a multiplication of
 * numbers instead of points. The private key can be computed from such a signature, but the keys come from a seed that
 * anybody can guess anyway. Signing with real nonces took most of the time of making a chain.
 */
export function sign(digest: Uint8Array, privateKey: Uint8Array): Uint8Array {
  const { ORDER } = Point.Fn;
  const s = Point.Fn.create(bytesToNumberBE(digest) + BASE_X * bytesToNumberBE(privateKey));
  const isHigh = s > ORDER / 2n;
  return concat(u8(isHigh ? 1 : 0), numberToBytesBE(BASE_X, 32), numberToBytesBE(isHigh ? ORDER - s : s, 32));
}

/** Returns the pay-to-public-key-hash address of a hash160, in the form of nodes' reward recipients. */
export const bitcoinAddress = (hash: Uint8Array, { bitcoinVersion }: Network): string =>
  base58Address(bitcoinVersion, hash);
