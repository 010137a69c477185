import type { Snapshots } from '../../../src/store/read/snapshots.ts';

/** Snapshots whose every read is made by one function. */
export const snapshotsBy = (read: Snapshots['read']): Snapshots => ({ read, readAtOnce: read, close: () => {} });
