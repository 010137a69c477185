/** Snapshots whose clock stands still, and which look at their file when they are told to. */
import type { Snapshots } from '../../src/store/reader.ts';
import { openSnapshots, type SnapshotEvent } from '../../src/store/snapshots.ts';

export interface WatchedSnapshots extends Snapshots, Disposable {
  readonly said: SnapshotEvent[];
  /** Lets time pass, then looks. */
  look(milliseconds?: number): void;
}

/** Closed at the end of the block for `using`. */
export function watchedSnapshots(directory: string): WatchedSnapshots {
  const said: SnapshotEvent[] = [];
  let time = 0;
  let lookNow = () => {};
  const snapshots = openSnapshots(directory, {
    log: (event) => said.push(event),
    now: () => time,
    every(_, call) {
      lookNow = call;
      return () => {
        lookNow = () => {};
      };
    },
  });
  return {
    ...snapshots,
    said,
    look(milliseconds = 0) {
      time += milliseconds;
      lookNow();
    },
    [Symbol.dispose]: snapshots.close,
  };
}
