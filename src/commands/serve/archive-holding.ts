/** What the archive of a server holds of its journal, by which the journal is trimmed. */
import type { Clock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import type { EntryHolder } from '../../store/ingest/retention.ts';
import type { Head } from '../../store/log/entry.ts';
import type { BroughtEntries } from '../data/archived-entries.ts';

/** Milliseconds for which the archive is known to hold what was read back of it, and until it is read again where it holds less. */
const KNOWN_MS = 60_000;

/** @param entries reads the archive back */
export function archiveHolding(
  { location, sealedUpTo }: Pick<BroughtEntries, 'location' | 'sealedUpTo'>,
  clock: Pick<Clock, 'monotonic'>,
): EntryHolder {
  let known: Head | { reason: string } | null = null;
  /** Milliseconds of the monotonic clock at which it was known. */
  let knownAt = Number.NEGATIVE_INFINITY;
  let isReading = false;

  async function read(first: number, last: number): Promise<void> {
    isReading = true;
    try {
      known = await sealedUpTo(first, last);
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      known = { reason: error.message };
    } finally {
      isReading = false;
      knownAt = clock.monotonic();
    }
  }

  return {
    location,
    held(first, last) {
      const isKnown = clock.monotonic() - knownAt < KNOWN_MS;
      // The next segments follow at once.
      const isEnough = known === null || 'reason' in known || known.id >= last;
      if (!isReading && !(isKnown && isEnough)) void read(first, last);
      return isKnown && isEnough ? known : 'reading';
    },
  };
}
