/*
 * The runtime's one-shot digests: several times faster than a hasher that is made, fed and asked. They write into an
 * array given to them because what they return is typed as any kind of array.
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
