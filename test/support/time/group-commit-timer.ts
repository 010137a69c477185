/** The clock of group commits, which the test moves. */
import type { Clock } from '../../../src/base/clock.ts';

export interface GroupCommitTimer extends Pick<Clock, 'after' | 'monotonic'> {
  /** Whether a group is pending. */
  runs(): boolean;
  /** Ends the wait, if there is one. */
  end(): void;
  /** Lets milliseconds pass. */
  pass(milliseconds: number): void;
  /** Lets milliseconds pass in which no timer ends, as during a commit. */
  stall(milliseconds: number): void;
}

interface Waiting {
  due: number;
  call: () => void;
}

export function groupCommitTimer(): GroupCommitTimer {
  const waiting = new Set<Waiting>();
  let now = 0;
  const endUntil = (moment: number): void => {
    for (const one of [...waiting].sort((a, b) => a.due - b.due)) {
      if (one.due <= moment && waiting.delete(one)) one.call();
    }
  };
  return {
    after(milliseconds, call) {
      const one = { due: now + milliseconds, call };
      waiting.add(one);
      return () => void waiting.delete(one);
    },
    monotonic: () => now,
    runs: () => waiting.size > 0,
    end: () => endUntil(Number.POSITIVE_INFINITY),
    stall(milliseconds) {
      now += milliseconds;
    },
    pass(milliseconds) {
      now += milliseconds;
      endUntil(now);
    },
  };
}
