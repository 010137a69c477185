/** Appends entries to the log, and finds out what became of one whose answer was lost. */
import type { Clock } from '../base/clock.ts';
import { type Entry, type Head, sameChain } from '../store/log/entry.ts';
import {
  type LogHead,
  LogUnavailableError,
  LogUnknownOutcomeError,
  logEntryOf,
  type SharedLog,
} from '../store/log/shared-log.ts';
import type { ClusterMetrics } from './events.ts';

type Log = Pick<SharedLog, 'append' | 'read'>;
type Outcome = 'appended' | 'conflict';

/** Appends an entry where `head` is the newest of the log. @returns `conflict` where another stands there */
export type AppendToLog = (entry: Entry, head: Head) => Promise<Outcome>;

/**
 * What the log has under the number of an entry whose answer was lost. Where that is nothing, the entry may still come:
 * then it is followed like that of another host, and its event is a repetition.
 * @throws LogUnavailableError where there is nothing, or the log can't be asked
 */
async function lookedUp(log: Pick<Log, 'read'>, entry: Entry): Promise<Outcome> {
  const [found] = await log.read(entry.id - 1, 1);
  if (found?.seq !== entry.id) throw new LogUnavailableError('the log did not say whether it took the entry');
  return sameChain(found.chain, entry.chain) ? 'appended' : 'conflict';
}

/** What appending came to. @param last the last entry that was to be appended, with which all are in the log or none */
async function outcomeOf(log: Pick<Log, 'read'>, last: Entry, appending: Promise<Outcome>): Promise<Outcome> {
  try {
    return await appending;
  } catch (error) {
    if (!(error instanceof LogUnknownOutcomeError)) throw error;
    return lookedUp(log, last);
  }
}

/**
 * Makes what appends an entry.
 * @returns a function that throws LogUnavailableError where the entry is not known to be in the log
 */
export function appender(log: Log, clock: Pick<Clock, 'monotonic'>, metrics: ClusterMetrics): AppendToLog {
  return async (entry, { id: seq, chain }) => {
    const started = clock.monotonic();
    const outcome = await outcomeOf(log, entry, log.append(logEntryOf(entry), { seq, chain }));
    if (outcome === 'appended') metrics.appended((clock.monotonic() - started) / 1000);
    return outcome;
  };
}

/**
 * Appends entries that follow each other where `head` is the newest of the log: all of them or none.
 * @returns `conflict` where another entry stands there
 * @throws LogUnavailableError where they are not known to be in the log
 */
export async function appendTogether(
  log: Pick<SharedLog, 'appendTogether' | 'read'>,
  entries: readonly Entry[],
  head: LogHead,
): Promise<Outcome> {
  const last = entries.at(-1);
  if (last === undefined) return 'appended';
  return outcomeOf(log, last, log.appendTogether(entries.map(logEntryOf), head));
}
