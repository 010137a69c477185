/**
 * Collecting garbage sooner than the runtime does, which lets its heap double before it looks: several hundred megabytes
 * where a genesis block is taken, and some sixty in a long import or rebuild.
 */
import { edenGC, fullGC } from 'bun:jsc';

/** Every so many collections, one is of all garbage: what was used for a while is no longer among the young. */
const FULL_EVERY = 4;

/**
 * A function to call after each of many parts of long work, which collects garbage once in so many calls.
 * @param calls few enough that the parts between two collections leave some megabytes
 */
export function collecting(calls: number): () => void {
  let call = 0;
  return () => {
    call += 1;
    if (call % (calls * FULL_EVERY) === 0) fullGC();
    else if (call % calls === 0) edenGC();
  };
}

/** Collects all garbage, which takes some twenty milliseconds: for the end of work that took seconds and left much of it. */
export const collectAll = (): void => void fullGC();

/** Bytes from which on it is worth giving them back by hand. */
const LARGE = 4_000_000;

/** Gives back the memory of bytes that nobody reads again, if they are many and share it with no others. */
export function discard({ buffer, byteLength }: Uint8Array): void {
  const isWhole = byteLength === buffer.byteLength;
  if (buffer instanceof ArrayBuffer && isWhole && byteLength >= LARGE) buffer.transfer(0);
}
