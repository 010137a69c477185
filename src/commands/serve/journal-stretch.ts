/** Reads what `/stackside/v1/journal` answers. */
import type { JournalStretch, StoredEntry } from '../../api/stackside/journal.ts';
import { openJournalReader } from '../../store/files/journal.ts';

/** Entries that follow one, up to the first that is missing. The file is open while they are read. */
function* entriesAfter(directory: string, after: number): Generator<StoredEntry> {
  const journal = openJournalReader(directory);
  try {
    for (let id = after + 1; ; id++) {
      const entry = journal.stored(id);
      if (entry === undefined) return;
      yield entry;
    }
  } finally {
    journal.close();
  }
}

/**
 * The events of a data directory that follow a number.
 * @throws OperatorError where the journal can't be read
 */
export function journalStretch(directory: string, after: number): JournalStretch {
  const journal = openJournalReader(directory);
  try {
    return {
      chain: journal.chainAt(after),
      last: journal.lastId(),
      lacksUpTo: after < journal.trimmedTo() ? journal.trimmedTo() : null,
      entries: () => entriesAfter(directory, after),
    };
  } finally {
    journal.close();
  }
}
