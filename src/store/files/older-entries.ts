/**
 * Entries that a journal no longer has: one was trimmed, or begins after a base. An archive of the log has them. Readers see one
 * source, the journal and below it the older entries, and each older entry is of the journal's log by its chain value.
 */
import { PassingError } from '../../base/errors.ts';
import type { Entry, Head } from '../log/entry.ts';
import type { JournalReads } from './journal.ts';

/** What an operator does whose data were archived. */
export const NAME_ARCHIVE = 'Name the archive of this data with --archive.';

/** Older entries, from the first of the log up to the last one that a journal lacks. */
export interface OlderEntries {
  /**
   * Reads an entry.
   * @param lacked the last entry that the journal lacks, by which the entries are known to be of its log
   * @throws EntryAwayError where the entry must be brought first; OperatorError where nobody has it, or it can't be read
   */
  read(id: number, lacked: Head): Entry;
}

/** Work needs an entry that has to be brought first, while nothing waits for it. The work is done again then. */
export class EntryAwayError extends PassingError {
  constructor(
    readonly id: number,
    readonly lacked: Head,
  ) {
    super(`Entry ${id} is not in the journal, and was not read from the archive yet.`, 'Try again.');
  }
}

/** The entry that an error, or the cause of one, says to be away; null for any other error. */
export function awayIn(error: unknown): EntryAwayError | null {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof EntryAwayError) return at;
  return null;
}

/**
 * Does work, and again after each entry that it needs first was brought.
 * @throws what the work throws, and the error of an entry that can't be brought
 */
export type BringEntries = <T>(work: () => T | Promise<T>) => Promise<T>;

/** For a journal without older entries. */
export const nothingToBring: BringEntries = async (work) => work();

/** The last entry that a journal lacks, by the chain value that it has of it; null where it lacks none. */
export function lackedBy(journal: Pick<JournalReads, 'trimmedTo' | 'chainAt'>): Head | null {
  const id = journal.trimmedTo();
  const chain = id === 0 ? null : journal.chainAt(id);
  return chain === null ? null : { id, chain };
}

/**
 * A journal whose reads go on below its first entry.
 * @param older null where there are none: then the journal is as it is
 */
export function withOlder<J extends JournalReads>(journal: J, older: OlderEntries | null): J {
  if (older === null) return journal;

  function olderEntry(id: number): Entry | undefined {
    const lacked = lackedBy(journal);
    return lacked === null || id < 1 || id > lacked.id ? undefined : older!.read(id, lacked);
  }

  /** The entries after one. A journal may be trimmed during the walk, so that its next entry is an older one then. */
  function* entriesAfter(id: number): Generator<Entry> {
    for (let [at, isEnd] = [id, false]; !isEnd; ) {
      for (let entry = olderEntry(at + 1); entry !== undefined; entry = olderEntry(at + 1)) {
        yield entry;
        at = entry.id;
      }
      isEnd = true;
      for (const entry of journal.entriesAfter(at, true)) {
        isEnd = entry.id === at + 1;
        if (!isEnd) break;
        at = entry.id;
        yield entry;
      }
    }
  }

  return {
    ...journal,
    trimmedTo: () => 0,
    chainAt: (id: number) => journal.chainAt(id) ?? olderEntry(id)?.chain ?? null,
    read: (id: number) => journal.read(id) ?? olderEntry(id),
    entriesAfter,
  };
}
