import { sha256 } from '@noble/hashes/sha2.js';
import { createBase58check } from '@scure/base';
import { concat, u8 } from './bytes.ts';
import type { Network } from './network.ts';

const base58check = createBase58check(sha256);

/** The pay-to-public-key-hash address of a hash160, as the node writes reward recipients. */
export function bitcoinAddress(hash160: Uint8Array, network: Network): string {
  return base58check.encode(concat(u8(network.bitcoinVersion), hash160));
}
