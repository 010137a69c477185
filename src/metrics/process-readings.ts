/** Readings of this process. */
import { readdirSync } from 'node:fs';

/**
 * Linux opens a file for a reading. If no file descriptor is free, because clients hold all of them, the last known value is
 * returned.
 */
function orLast(read: () => number): () => number {
  let last = 0;
  return () => {
    try {
      last = read();
    } catch (error) {
      if (Object(error).syscall === undefined) throw error;
    }
    return last;
  };
}

/** Returns the resident memory in bytes. */
export const residentBytes = orLast(() => process.memoryUsage.rss());

/** Returns the number of open file descriptors, on Linux. */
export const openDescriptors = orLast(() => readdirSync('/proc/self/fd').length);
