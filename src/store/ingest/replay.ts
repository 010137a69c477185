/** Brings the index up to its journal: after a crash, after a failure, or for a new index. */
import { collectAll } from '../../base/garbage.ts';
import type { DataFiles } from './data-files.ts';
import type { ApplyEntry } from './entry-applier.ts';
import type { IngestLog } from './event.ts';
import type { Applied } from './event-router.ts';
import type { LastEvent } from './last-event.ts';
import { MOST_BYTES_OF_IMPORT } from './shared-commits.ts';

interface ReplayOptions {
  files: Pick<DataFiles, 'journal' | 'places'>;
  apply: ApplyEntry;
  /** The journal's last entry that is applied. */
  upTo: number;
  last: LastEvent;
  /** Whether what comes is told to subscribers. */
  isLive: () => boolean;
  /** Told of each entry that was applied. */
  applied: (applied: Applied) => void;
  log: IngestLog;
}

/**
 * What applies the journal's entries that the index lacks.
 * @returns a function whose parameter runs its own in a transaction over the index alone
 */
export function journalReplay({ files, apply, upTo, last, isLive, applied, log }: ReplayOptions) {
  const { journal, places } = files;
  return (batch: (work: () => void) => void): void => {
    const end = Math.min(journal.lastId(), upTo);
    let at = places.current().id;
    let events = 0;
    while (at < end) {
      let bytes = 0;
      batch(() => {
        for (const entry of journal.entriesAfter(at)) {
          applied(apply(entry, isLive()));
          // An entry that changes nothing now (it may have, before a fix of ours) is done with too.
          places.set(entry);
          at = entry.id;
          events += 1;
          bytes += entry.text.length;
          if (bytes >= MOST_BYTES_OF_IMPORT || at === end) break;
        }
      });
      if (bytes >= MOST_BYTES_OF_IMPORT) collectAll();
    }
    if (events > 0) log({ event: 'journal_replayed', events });
    // A commit that seemed to fail may be done all the same: its event is no news when it comes again.
    last.note(journal.read(end));
  };
}
