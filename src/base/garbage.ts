/**
 * Garbage collection during long work. The runtime collects only after its heap has doubled: this costs several hundred
 * megabytes when a genesis block is applied, and some sixty in a long import or rebuild.
 */
import { edenGC, fullGC } from 'bun:jsc';

/** Every fourth collection is a full one, since the others find only garbage of the young generation. */
const FULL_EVERY = 4;

/**
 * Makes a function to call after each part of long work; it collects garbage every so many calls.
 * @param calls between two collections; few enough that they leave only some megabytes of garbage
 */
export function collecting(calls: number): () => void {
  let call = 0;
  return () => {
    call += 1;
    if (call % (calls * FULL_EVERY) === 0) fullGC();
    else if (call % calls === 0) edenGC();
  };
}

/** Collects all garbage, in some twenty milliseconds. For the end of work that took seconds. */
export const collectAll = (): void => void fullGC();

/** Minimum size in bytes of a buffer that {@link discard} frees. */
const LARGE = 65_536;

/** Frees a large buffer that is no longer used, unless the bytes are only a part of it. */
export function discard({ buffer, byteLength }: Uint8Array): void {
  const isWhole = byteLength === buffer.byteLength;
  if (buffer instanceof ArrayBuffer && isWhole && byteLength >= LARGE) buffer.transfer(0);
}
