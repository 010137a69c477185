/**
 * SHA-256, by the runtime's one-shot digest: several times faster than a hasher that is made, fed and asked. It writes
 * into an array of ours because what it returns is typed as any kind of array.
 */
export function sha256(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const digest = new Uint8Array(32);
  Bun.SHA256.hash(bytes, digest);
  return digest;
}

/** SHA-512/256, which is not SHA-512 cut short: its initial values are others (FIPS 180-4). */
export function sha512_256(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const digest = new Uint8Array(32);
  Bun.SHA512_256.hash(bytes, digest);
  return digest;
}

/** RIPEMD-160 of the SHA-256: what Bitcoin and Stacks addresses hold of a public key or script. */
export const hash160 = (bytes: Uint8Array): Uint8Array =>
  new Bun.CryptoHasher('ripemd160').update(sha256(bytes)).digest();
