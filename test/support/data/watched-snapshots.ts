/** Snapshots that check their files when a test calls `look`. */
import { openSnapshots, type SnapshotEvent, type Snapshots } from '../../../src/store/read/snapshots.ts';
import { manualClock } from '../time/manual-clock.ts';

export interface WatchedSnapshots extends Snapshots, Disposable {
  readonly logged: SnapshotEvent[];
  /** Lets time pass, then looks. */
  look(milliseconds?: number): void;
}

/** Closed at the end of the block for `using`. */
export function watchedSnapshots(directory: string): WatchedSnapshots {
  const logged: SnapshotEvent[] = [];
  const clock = manualClock();
  const snapshots = openSnapshots(directory, {
    log: (event) => logged.push(event),
    now: clock.now,
    every: clock.every,
  });
  return { ...snapshots, logged, look: clock.tick, [Symbol.dispose]: snapshots.close };
}
