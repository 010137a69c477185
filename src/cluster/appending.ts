/** Appends entries to the log, and finds out what became of one whose answer was lost. */
import type { Clock } from '../base/clock.ts';
import type { JournalEntry } from '../store/files/journal-entry.ts';
import { sameChain } from '../store/files/journal-entry.ts';
import type { AppendEntry } from '../store/ingest/shared-entries.ts';
import { LogUnavailableError, LogUnknownOutcomeError, logEntryOf, type SharedLog } from '../store/log/shared-log.ts';
import type { ClusterMetrics } from './events.ts';

type Log = Pick<SharedLog, 'append' | 'read'>;

/**
 * What the log has under the number of an entry whose answer was lost. Where that is nothing, the entry may still come:
 * then it is followed like that of another host, and its event is a repetition.
 * @throws LogUnavailableError where there is nothing, or the log can't be asked
 */
async function lookedUp(log: Log, entry: JournalEntry): Promise<'appended' | 'conflict'> {
  const [found] = await log.read(entry.id - 1, 1);
  if (found?.seq !== entry.id) throw new LogUnavailableError('the log did not say whether it took the entry');
  return sameChain(found.chain, entry.chain) ? 'appended' : 'conflict';
}

/**
 * Makes what appends an entry.
 * @returns a function that throws LogUnavailableError where the entry is not known to be in the log
 */
export function appender(log: Log, clock: Pick<Clock, 'monotonic'>, metrics: ClusterMetrics): AppendEntry {
  return async (entry, { id: seq, chain }) => {
    const started = clock.monotonic();
    let outcome: 'appended' | 'conflict';
    try {
      outcome = await log.append(logEntryOf(entry), { seq, chain });
    } catch (error) {
      if (!(error instanceof LogUnknownOutcomeError)) throw error;
      outcome = await lookedUp(log, entry);
    }
    if (outcome === 'appended') metrics.appended((clock.monotonic() - started) / 1000);
    return outcome;
  };
}
