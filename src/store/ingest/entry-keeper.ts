/** What has an entry appended to a log that hosts share, before it is kept in index and journal. */
import type { Journal } from '../files/journal.ts';
import type { JournalEntry } from '../files/journal-entry.ts';
import type { Place } from '../files/journal-link.ts';
import type { Transactions } from './transactions.ts';

/** Appends an entry where `head` is the newest of the log. @returns `conflict` where another stands there */
export type AppendEntry = (entry: JournalEntry, head: Place) => Promise<'appended' | 'conflict'>;

/**
 * Keeps an entry that is applied in the open transaction: it is appended to the log, and then journal and index commit.
 *
 * The outcome is `conflict` where the log has another entry; then, and where `append` throws, nothing has changed.
 * @param also writes more in that transaction, once the entry is in the log
 */
export type KeepEntry = (
  entry: JournalEntry,
  head: Place,
  append: AppendEntry,
  also?: () => void,
) => ReturnType<AppendEntry>;

export function entryKeeper(journal: Pick<Journal, 'append'>, transaction: Transactions): KeepEntry {
  return async (entry, head, append, also) => {
    let answer: Awaited<ReturnType<AppendEntry>>;
    try {
      answer = await append(entry, head);
    } catch (error) {
      transaction.rollback();
      throw error;
    }
    if (answer === 'conflict') {
      transaction.rollback();
      return 'conflict';
    }
    transaction.guarded(() => journal.append(entry));
    also?.();
    transaction.commit();
    return 'appended';
  };
}
