/** Snapshots of an index, and of readers that a test makes. */
import type { Reader } from '../../../src/store/read/index-reader.ts';
import { openSnapshots, type Snapshots } from '../../../src/store/read/snapshots.ts';

/** @param reader returns the reader of a request, or throws */
export const snapshotsBy = (reader: () => Reader): Snapshots => ({
  read: (request) => request(reader()),
  readLong: async (request) => request(reader()),
  close: () => {},
});

/** Opens the index in a directory for reading. `using` closes it. */
export function snapshotsOf(...args: Parameters<typeof openSnapshots>): Snapshots & Disposable {
  const snapshots = openSnapshots(...args);
  return { ...snapshots, [Symbol.dispose]: snapshots.close };
}
