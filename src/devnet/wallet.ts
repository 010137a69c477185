import { secp256k1 } from '@noble/curves/secp256k1.js';
import { ripemd160 } from '@noble/hashes/legacy.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { stacksAddress } from '../codec/address.ts';
import type { Network } from './network.ts';
import { Prng } from './prng.ts';

/** Someone who signs: a single-signature (P2PKH, compressed key) account. */
export interface Account {
  readonly address: string;
  readonly privateKey: Uint8Array;
  /** 33 bytes, compressed. */
  readonly publicKey: Uint8Array;
  /** RIPEMD-160 of the SHA-256 of the public key, 20 bytes. */
  readonly hash160: Uint8Array;
}

/** `count` accounts of one group, such as `user` or `miner`; the same seed and group always gives the same ones. */
export function accounts(seed: string, group: string, count: number, network: Network): Account[] {
  const keys = new Prng(`${seed}/keys/${group}`);
  return Array.from({ length: count }, () => accountOf(keys.bytes(32), network));
}

function accountOf(privateKey: Uint8Array, network: Network): Account {
  const publicKey = secp256k1.getPublicKey(privateKey);
  const hash160 = ripemd160(sha256(publicKey));
  return { address: stacksAddress(network.addressVersion, hash160), privateKey, publicKey, hash160 };
}

/**
 * A recoverable signature over a 32-byte digest as Stacks writes it: recovery id, r, s; 65 bytes, low S.
 *
 * The nonce is the deterministic one of RFC 6979, so that equal inputs give equal bytes.
 */
export function sign(digest: Uint8Array, privateKey: Uint8Array): Uint8Array {
  return secp256k1.sign(digest, privateKey, { prehash: false, lowS: true, format: 'recovered' });
}
