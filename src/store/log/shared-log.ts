/**
 * The log that several hosts share, as they see it: entries without a gap, each with its chain value (`entry.ts`). A host's
 * journal is a copy of it. No engine is known here.
 */
import { OperatorError } from '../../base/errors.ts';
import type { Entry, Head } from './entry.ts';

/** The engine did not take the entries, and nothing was written. */
export class LogUnavailableError extends Error {
  override readonly name: string = 'LogUnavailableError';
}

/** The engine may have written the entries, and its answer was lost: read the last one's number and compare. */
export class LogUnknownOutcomeError extends Error {
  override readonly name: string = 'LogUnknownOutcomeError';
}

/** What can be wrong with an entry of the log, as the end of a sentence that begins with the entry. */
export type EntryFault =
  | 'is missing'
  | 'is damaged: its chain value is wrong'
  | "is damaged: its payload can't be decompressed";

/** What an operator does about an entry that is missing or damaged. */
export const UNSOUND_REMEDY =
  "The log is unsound; this host's data is not at fault. Restore the entry's row from a backup of the database. Or delete a damaged " +
  'row, and run stackside cluster init with the data directory of a stopped host that has the entry: it adds what the log lacks. The ' +
  'host that delivers chainhooks adds it as well.';

/** An entry of the log is missing, or isn't what its chain value says. */
export class DamagedLogError extends OperatorError {
  constructor(
    /** The number of the entry. */
    readonly entry: number,
    readonly fault: EntryFault,
    options?: ErrorOptions,
  ) {
    super(`Entry ${entry} of the cluster's log ${fault}.`, UNSOUND_REMEDY, options);
  }
}

/** What became of entries that were to follow a head: `conflict` where the log has another one there. */
export type Appended = 'appended' | 'conflict';

export interface SharedLog {
  /**
   * Appends entries that follow each other where `head` is the newest entry of the log: all of them or none. What it
   * returned `appended` for is durable.
   * @throws LogUnavailableError, LogUnknownOutcomeError
   */
  append(entries: readonly Entry[], head: Head): Promise<Appended>;

  /**
   * Entries that follow `after`, in order and without checking them against each other: none where there are none yet. What
   * it returned is durable, whoever appended it.
   * @param limit the most entries @param maxBytes about how many bytes of text; at least one entry comes
   * @throws LogUnavailableError; DamagedLogError where the payload of the first can't be read
   */
  read(after: number, limit: number, maxBytes?: number): Promise<Entry[]>;

  /** The newest entry. @throws LogUnavailableError */
  head(): Promise<Head>;

  /**
   * The id of the chain whose events the log holds.
   * @param named becomes the chain of a log that has none yet; null names none
   * @returns null where none is named @throws LogUnavailableError
   */
  chain(named: number | null): Promise<number | null>;

  /**
   * Resolves when the log may have changed since `after` was its newest entry, or the signal is aborted. Also resolves where
   * the engine is away: the next `read` says so.
   */
  wait(after: number, signal: AbortSignal): Promise<void>;

  /** Ends what is under way and closes all connections. */
  close(): Promise<void>;
}

/** What a host has of the log: the entries of its journal. */
export interface OwnEntries {
  /** The number of the last entry. */
  lastId(): number;
  /** The chain value of an entry; null where it isn't stored. */
  chainAt(id: number): Uint8Array | null;
  /** The entries that follow one. @throws JournalEntryError, JournalDamagedError */
  entriesAfter(id: number): Iterable<Entry>;
  /** Number of the last entry that was removed from the beginning of the journal; 0 where none was. */
  trimmedTo(): number;
}
