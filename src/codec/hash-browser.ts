/**
 * The hashes of `hash.ts` without Bun. The console's bundle contains this file in its place (`#hash` in package.json).
 */
import { ripemd160 } from '@noble/hashes/legacy.js';
import { sha256 } from '@noble/hashes/sha2.js';

export { sha256 };

/** Returns the same as in `hash.ts`. */
export const hash160 = (bytes: Uint8Array): Uint8Array => ripemd160(sha256(bytes));
