/**
 * Entries of a log that several hosts share, into index and journal. A host appends its own events, and follows those of
 * others; either way index and journal become what the log's entries up to there make of them.
 */
import { OperatorError } from '../../base/errors.ts';
import { PayloadError, readPayload } from '../../chain/payload-reader.ts';
import type { Gap, Journal } from '../files/journal.ts';
import { type JournalEntry, nextChain, sameChain } from '../files/journal-entry.ts';
import { type Place, placeAfter } from '../files/journal-link.ts';
import { isStorageError } from '../files/store-failure.ts';
import { UnsharedHooksError } from '../hooks/unshared.ts';
import type { DataFiles } from './data-files.ts';
import type { ApplyEntry } from './entry-applier.ts';
import { COMMAND_PATH, type EntryCommands } from './entry-commands.ts';
import { type AppendEntry, entryKeeper } from './entry-keeper.ts';
import type { Outcome, ReceivedEvent } from './event.ts';
import type { Applied, EventRouter } from './event-router.ts';
import { UnknownParentError } from './known-blocks.ts';
import { commandTaker } from './shared-commands.ts';
import type { Transactions } from './transactions.ts';

/** An entry of the log that doesn't follow the host's last one: its number or its chain value is another. */
export class ForeignEntryError extends Error {
  override readonly name = 'ForeignEntryError';
  constructor(
    /** The number of the entry. */
    readonly id: number,
    /** The host's last entry. */
    readonly last: number,
  ) {
    super(`entry ${id} of the log does not follow entry ${last} of this host`);
  }
}

/** An entry that this program can't apply, though another host did. */
class InapplicableEntryError extends OperatorError {
  constructor(
    readonly id: number,
    options: { cause: Error },
  ) {
    const { cause } = options;
    const ofOperator = cause instanceof OperatorError;
    super(
      `Entry ${id} of the log can not be applied: ${ofOperator ? cause.message.replace(/\.$/, '') : cause.message}.`,
      ofOperator
        ? cause.remedy
        : 'Run the newest Stackside of all hosts on this one, with the same settings of the chain.',
      options,
    );
  }
}

interface SharedOptions {
  files: Pick<DataFiles, 'places' | 'imports'> & { journal: Journal };
  router: Pick<EventRouter, 'apply'>;
  apply: ApplyEntry;
  commands: EntryCommands;
  transaction: Transactions;
  /** Told of each entry that was applied, once it is committed. */
  report: (applied: Applied) => void;
  /** Where the index stands, as others see it. */
  committedPlace: () => Place;
}

/**
 * Entries before the newest among which an event that only the journal holds is looked for: it may come from each of
 * several nodes, and once more from each.
 */
const LOOK_BACK = 1_000;

/** The entries that follow a host's last one, and the number of the first that doesn't; null where all do. */
function linked(last: Place, entries: readonly JournalEntry[]): { following: JournalEntry[]; foreign: number | null } {
  const following: JournalEntry[] = [];
  let at = last;
  for (const entry of entries) {
    if (entry.id <= last.id) continue;
    if (entry.id !== at.id + 1 || !sameChain(nextChain(at.chain, entry), entry.chain)) {
      return { following, foreign: entry.id };
    }
    following.push(entry);
    at = entry;
  }
  return { following, foreign: null };
}

export type SharedEntries = ReturnType<typeof sharedEntries>;

/** What applies events of this host's node. */
function proposals({ files, router, transaction }: SharedOptions) {
  const { journal, places, imports } = files;

  /** Applies an event in a transaction that stays open. @returns null where it changes nothing; then none is open */
  function proposed(event: ReceivedEvent): { head: Place; entry: JournalEntry; applied: Applied } | null {
    const payload = readPayload(event.path, event.text);
    transaction.begin();
    const head = transaction.guarded(places.current);
    const applied = transaction.step((): Applied => {
      if (payload.kind === 'other' && journal.holdsAfter(head.id - LOOK_BACK, event)) {
        return { outcome: 'repeated', change: null };
      }
      return router.apply(payload, event, head.id + 1, true);
    });
    if (applied.outcome === 'repeated') {
      transaction.rollback();
      return null;
    }
    const place = placeAfter(head, event);
    places.set(place);
    return { head, entry: { ...event, ...place }, applied };
  }

  /** Keeps how far the source of an event is read, in the open transaction or in one of its own. */
  function keepPlace({ read }: ReceivedEvent): void {
    if (read === undefined) return;
    transaction.begin();
    transaction.guarded(() => imports.set(read.source, read.upTo));
  }

  return { proposed, keepPlace };
}

/** Whether an entry can't be applied for what it is, and not for want of a file that can be written or read. */
const isOfTheEntry = ({ path }: JournalEntry, cause: unknown): cause is Error =>
  cause instanceof PayloadError ||
  cause instanceof UnknownParentError ||
  // Another host applied the command, so that it can't be refused.
  (path === COMMAND_PATH && cause instanceof Error && !(isStorageError(cause) || cause instanceof UnsharedHooksError));

/** What applies entries of the log. @returns a function that applies them in one transaction, all of them or none */
function togetherApplier({ files, apply: applyEntry, transaction, report }: SharedOptions) {
  const { journal, places } = files;

  /** Applies an entry in the open transaction. @throws InapplicableEntryError */
  function apply(entry: JournalEntry, live: boolean): Applied {
    try {
      const applied = transaction.step(() => {
        const done = applyEntry(entry, live);
        // An entry that changes nothing has its number all the same.
        places.set(entry);
        return done;
      });
      transaction.guarded(() => journal.append(entry));
      return applied;
    } catch (cause) {
      throw isOfTheEntry(entry, cause) ? new InapplicableEntryError(entry.id, { cause }) : cause;
    }
  }

  return async (entries: readonly JournalEntry[], live: boolean, turn: () => Promise<void>): Promise<void> => {
    const done: Applied[] = [];
    try {
      transaction.begin();
      for (const entry of entries) {
        done.push(apply(entry, live));
        await turn();
      }
      transaction.commit();
    } catch (error) {
      transaction.rollback();
      throw error;
    }
    for (const one of done) report(one);
  };
}

/** What takes entries; every function is called in the order of all that is written. */
export function sharedEntries(options: SharedOptions) {
  const { files, transaction, commands, report, committedPlace } = options;
  const { journal, places } = files;
  const { proposed, keepPlace } = proposals(options);
  const applyTogether = togetherApplier(options);
  const keep = entryKeeper(journal, transaction);

  return {
    /** The host's last entry. */
    place: committedPlace,
    /** The chain value of one of the host's entries; null where it has none. */
    chainAt: (id: number): Uint8Array | null => journal.chainAt(id),
    /** The host's entries that follow one. @throws JournalEntryError, JournalDamagedError */
    entriesAfter: (id: number): Generator<JournalEntry> => journal.entriesAfter(id),
    /** Stretches of entries that the host's journal lacks. */
    gaps: (): Gap[] => journal.gaps(),

    /**
     * Takes an event: applies it in an open transaction, has it appended to the log, and commits the journal and then the
     * index. When this is done, the event is in the log and on the disk.
     * @returns `conflict` where the log has another entry; then nothing has changed
     * @throws what `append` throws and what {@link Ingest.receive} throws; then the journal and the index are as they were,
     *   and are to take the entry from the log if that has it
     */
    async take(event: ReceivedEvent, append: AppendEntry): Promise<Outcome | 'conflict'> {
      const made = proposed(event);
      if (made === null) {
        keepPlace(event);
        transaction.commit();
        return 'repeated';
      }
      if ((await keep(made.entry, made.head, append, () => keepPlace(event))) === 'conflict') return 'conflict';
      report(made.applied);
      return 'applied';
    },

    /** Takes a command of this host. */
    command: commandTaker({ files, transaction, commands, keep }),

    /**
     * Applies entries of the log; those that the host has already are passed over.
     * @param live whether subscribers are told of them
     * @param turn lets others have their turn between two entries
     * @throws ForeignEntryError, InapplicableEntryError; then those before it are applied
     * @throws StoreUnavailableError; then none of them is applied
     */
    async follow(entries: readonly JournalEntry[], live: boolean, turn: () => Promise<void>): Promise<void> {
      transaction.begin();
      const last = transaction.guarded(places.current);
      const { following, foreign } = linked(last, entries);
      try {
        await applyTogether(following, live, turn);
      } catch (error) {
        if (!(error instanceof InapplicableEntryError)) throw error;
        const before = following.slice(
          0,
          following.findIndex(({ id }) => id === error.id),
        );
        await applyTogether(before, live, turn);
        throw error;
      }
      if (foreign !== null) throw new ForeignEntryError(foreign, following.at(-1)?.id ?? last.id);
    },
  };
}
