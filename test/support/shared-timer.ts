/** The timer by which events share a commit of the index. It ends when the test says so. */
import type { Clock } from '../../src/base/clock.ts';

export interface SharedTimer {
  after: Clock['after'];
  /** Whether events wait for their commit. */
  runs(): boolean;
  /** Ends the wait, if there is one. */
  end(): void;
}

export function sharedTimer(): SharedTimer {
  let waiting: (() => void) | null = null;
  return {
    after(_, call) {
      waiting = call;
      return () => {
        waiting = null;
      };
    },
    runs: () => waiting !== null,
    end: () => waiting?.(),
  };
}
