/** Snapshots of readers that a test makes. */
import type { Reader } from '../../../src/store/read/index-reader.ts';
import type { Snapshots } from '../../../src/store/read/snapshots.ts';

/** @param reader returns the reader of a request, or throws */
export const snapshotsBy = (reader: () => Reader): Snapshots => ({
  read: (request) => request(reader()),
  readLong: async (request) => request(reader()),
  close: () => {},
});
