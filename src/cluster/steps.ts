/** Steps that bring a host and the log together: the host follows what it lacks, or gives back what the log has lost. */
import type { Clock } from '../base/clock.ts';
import type { HostEntries } from '../store/ingest/ingest.ts';
import { ForeignEntryError } from '../store/ingest/writer.ts';
import { sameChain } from '../store/log/entry.ts';
import { journalEntryOf, type LogEntry, type LogHead, type SharedLog } from '../store/log/shared-log.ts';
import { heal, whyForeign } from './comparing.ts';
import type { ClusterLog } from './events.ts';
import { NEAR, type Standing } from './standing.ts';

/** Bytes of texts that are read and applied together. */
const CHUNK_BYTES = 8_000_000;

export interface StepOptions {
  log: SharedLog;
  entries: HostEntries;
  clock: Clock;
  say: ClusterLog;
}

/** Runs a job when nobody else writes. */
export type InTurn = <T>(job: () => Promise<T>) => Promise<T>;

/** What a step came to. */
export interface Stepped {
  /** Whether entries were followed, or given back to the log. */
  moved: boolean;
  /** Whether host and log have the same entries, as far as the step saw. */
  level: boolean;
}

export type Step = (inTurn: InTurn) => Promise<Stepped>;

/** Makes what brings host and log closer together, step by step. */
export function stepper(options: StepOptions, at: Standing): Step {
  const { log, entries, clock, say } = options;

  /** Applies entries of others. @throws OperatorError where they don't follow the host's last one */
  async function follow(read: readonly LogEntry[]): Promise<void> {
    try {
      await entries.follow(read.map(journalEntryOf), at.wasLevel(), clock.turn);
    } catch (error) {
      if (error instanceof ForeignEntryError) throw await whyForeign(log, entries, error.id);
      throw error;
    }
    say({ event: 'log_followed', entries: read.length, position: entries.place().id });
  }

  /** The log has lost entries, or has others. @returns whether it got some back */
  async function giveBack(head: LogHead): Promise<boolean> {
    const healed = await heal(log, entries, head);
    const [first, last] = [healed[0], healed.at(-1)];
    if (first === undefined || last === undefined) return false;
    at.counts.healed += healed.length;
    say({ event: 'log_healed', first: first.id, last: last.id });
    return true;
  }

  /**
   * Takes a step.
   * @param inTurn runs what writes; what only reads is done before
   * @throws LogUnavailableError, UnsoundLogError, StoreUnavailableError, OperatorError
   */
  return async (inTurn) => {
    const { id, chain } = entries.place();
    const [read, head] = await Promise.all([log.read(id, NEAR, CHUNK_BYTES), log.head()]);
    at.reached(head.seq);
    if (read.length > 0) {
      await inTurn(() => follow(read));
      const level = entries.place().id >= head.seq;
      if (level) at.level();
      return { moved: true, level };
    }
    // An entry came in between.
    if (head.seq > id) return { moved: false, level: false };
    if (head.seq === id && sameChain(head.chain, chain)) {
      at.level();
      return { moved: false, level: true };
    }
    return { moved: await inTurn(() => giveBack(head)), level: false };
  };
}
