/**
 * Returns the SHA-256, by Bun's one-shot digest, which is several times faster than a hasher object. Writes into a new
 * array because the digest's return type is any kind of array.
 */
export function sha256(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const digest = new Uint8Array(32);
  Bun.SHA256.hash(bytes, digest);
  return digest;
}

/** Returns the SHA-512/256. It isn't a truncated SHA-512: its initial values differ (FIPS 180-4). */
export function sha512_256(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const digest = new Uint8Array(32);
  Bun.SHA512_256.hash(bytes, digest);
  return digest;
}

/** Returns the RIPEMD-160 of the SHA-256: the hash of a public key or script in Bitcoin and Stacks addresses. */
export const hash160 = (bytes: Uint8Array): Uint8Array =>
  new Bun.CryptoHasher('ripemd160').update(sha256(bytes)).digest();
