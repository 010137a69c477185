/** The entries of a journal in order, read and prepared for the writer by threads that share the work. */
import type { Prepare } from '../../chain/prepared.ts';
import { openJournalReader } from '../../store/files/journal.ts';
import type { PreparedEntry } from '../../store/ingest/event.ts';

/** The journal of a data directory, up to an entry. */
export interface JournalSource {
  directory: string;
  upTo: number;
}

/** Entries of a batch: few, since blocks of two megabytes may follow each other. */
const BATCH_ENTRIES = 16;

/**
 * Reads the entries of the batches of a share, and prepares them.
 * @throws OperatorError if an entry is damaged, JournalDamagedError if the file is
 */
export function* preparedEntries(
  { directory, upTo }: JournalSource,
  prepare: Prepare,
  isOwn: (batch: number) => boolean,
): Generator<PreparedEntry[]> {
  const journal = openJournalReader(directory);
  try {
    for (let batch = 0; batch * BATCH_ENTRIES < upTo; batch++) {
      if (!isOwn(batch)) continue;
      const before = batch * BATCH_ENTRIES;
      const last = Math.min(before + BATCH_ENTRIES, upTo);
      const entries: PreparedEntry[] = [];
      for (const { text, ...entry } of journal.after(before)) {
        const payload = prepare(entry.path, text);
        entries.push({ ...entry, length: text.length, content: payload === null ? { text } : { payload } });
        if (entry.id === last) break;
      }
      yield entries;
    }
  } finally {
    journal.close();
  }
}
