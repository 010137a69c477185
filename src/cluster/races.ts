/**
 * Attempts to append that race with those of other hosts: whoever loses follows the entry that came before, and tries again.
 */
import { UnknownParentError } from '../store/ingest/known-blocks.ts';
import { LogUnavailableError } from '../store/log/shared-log.ts';
import { HostBehindError } from './errors.ts';
import type { ClusterLog } from './events.ts';
import type { Standing } from './standing.ts';
import type { InTurn, Step } from './steps.ts';

/** Entries of others that may come before an event or a command while it is taken. */
const MOST_CONFLICTS = 20;

interface RaceOptions {
  at: Standing;
  step: Step;
  say: ClusterLog;
  /** The number of the host's last entry. */
  position: () => number;
}

/** Runs a job at once: whoever asks has the turn already. */
const atOnce: InTurn = (job) => job();

/**
 * Repeats an attempt until it wins; whoever calls it has the turn to write.
 * @param attempt returns `conflict` where another host's entry came before
 * @throws LogUnavailableError where it can't be won now, and what the attempt throws
 */
export type Race = <T>(attempt: () => Promise<T | 'conflict'>) => Promise<T>;

/** Makes what repeats an attempt until it wins. */
export function racer({ at, step, say, position }: RaceOptions): Race {
  async function outcomeOf<T>(attempt: () => Promise<T>): Promise<T | UnknownParentError> {
    try {
      return await attempt();
    } catch (error) {
      if (error instanceof UnknownParentError) return error;
      throw error;
    }
  }

  return async <T>(attempt: () => Promise<T | 'conflict'>): Promise<T> => {
    for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts++) {
      if (at.isFarBehind()) throw new HostBehindError();
      const outcome = await outcomeOf(attempt);
      if (outcome instanceof UnknownParentError) {
        // Another host may have the parent: what it appended is followed first.
        if (!(await step(atOnce)).moved) throw outcome;
        continue;
      }
      if (outcome !== 'conflict') return outcome;
      at.counts.conflicts += 1;
      say({ event: 'log_conflict', entry: position() + 1 });
      // An event is likely to be a repetition then.
      const { moved } = await step(atOnce);
      if (!moved) throw new LogUnavailableError('the log refuses an entry and has no other of its number');
    }
    throw new HostBehindError();
  };
}
