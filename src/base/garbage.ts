/**
 * Garbage collection during long work. The runtime collects only after its heap has doubled. This costs several hundred
 * megabytes when a genesis block is applied, and some sixty in a long import or rebuild.
 */
import { edenGC, fullGC } from 'bun:jsc';

/** Every fourth collection is a full one. The others find only garbage of the young generation. */
const FULL_EVERY = 4;

/**
 * Makes a function to call after each part of long work. It collects garbage at every n-th call.
 * @param calls number of calls between two collections; with few enough, only some megabytes of garbage remain
 */
export function makeCollector(calls: number): () => void {
  let call = 0;
  return () => {
    call += 1;
    if (call % (calls * FULL_EVERY) === 0) fullGC();
    else if (call % calls === 0) edenGC();
  };
}

/** Collects all garbage, in some twenty milliseconds. Call it at the end of work that took seconds. */
export const collectAll = (): void => void fullGC();

/** Minimum size in bytes of a buffer that {@link discard} frees. */
const LARGE = 65_536;

/** Frees a large buffer that is no longer used, unless the bytes are only a part of the buffer. */
export function discard({ buffer, byteLength }: Uint8Array): void {
  const isWhole = byteLength === buffer.byteLength;
  if (buffer instanceof ArrayBuffer && isWhole && byteLength >= LARGE) buffer.transfer(0);
}
