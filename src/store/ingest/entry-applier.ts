/** What an entry of a journal does to the index, whether a node posted it or it is a command. */
import { readEntry } from '../../chain/payload-reader.ts';
import type { JournalEntry } from '../files/journal-entry.ts';
import { COMMAND_PATH, type EntryCommands } from './entry-commands.ts';
import type { Applied, EventRouter } from './event-router.ts';

/**
 * Applies an entry in the open transaction.
 * @param live whether subscribers are told of it
 * @throws PayloadError, UnknownParentError, and what a command throws
 */
export type ApplyEntry = (entry: JournalEntry, live: boolean) => Applied;

export const entryApplier =
  (router: Pick<EventRouter, 'apply'>, commands: Pick<EntryCommands, 'apply'>): ApplyEntry =>
  (entry, live) => {
    if (entry.path !== COMMAND_PATH) return router.apply(readEntry(entry.path, entry.text), entry, entry.id, live);
    commands.apply(entry);
    return { outcome: 'applied', change: null };
  };
