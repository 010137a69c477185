/**
 * The log that several hosts share: entries without a gap, each with its chain value (`entry.ts`). A host's journal is a copy
 * of it. This interface doesn't depend on the engine.
 */
import { OperatorError, TransientError } from '../base/errors.ts';
import type { Entry, EntrySource, Head } from '../store/log/entry.ts';

/** The engine did not accept the entries, and nothing was written. */
export class LogUnavailableError extends TransientError {
  override readonly name = 'LogUnavailableError';
}

/** The engine may have written the entries, and its answer was lost: compare with the log's last entry. */
export class LogUnknownOutcomeError extends TransientError {
  override readonly name = 'LogUnknownOutcomeError';
}

/** Faults of an entry of the log, as the end of a sentence that begins with the entry. */
export type EntryFault =
  | 'is missing'
  | 'is damaged: its chain value is wrong'
  | "is damaged: its payload can't be decompressed";

export const CORRUPT_LOG_REMEDY =
  "The shared log is damaged; this host's data is intact. Restore the entry's row from a backup of the database. Or delete a damaged " +
  'row, and run stackside cluster init with the data directory of a stopped host that has the entry: it adds the missing entries. The ' +
  'host that delivers chainhooks adds it as well.';

/** An entry of the log is missing, or doesn't match its chain value. */
export class DamagedLogError extends OperatorError {
  constructor(
    readonly entry: number,
    readonly fault: EntryFault,
  ) {
    super(`Entry ${entry} of the cluster's log ${fault}.`, CORRUPT_LOG_REMEDY);
  }
}

/** Result of appending entries after a head: `conflict` if the log has another entry there. */
export type AppendResult = 'appended' | 'conflict';

export interface SharedLog {
  /**
   * Appends consecutive entries if `head` is the log's newest entry, all or none. Entries are durable once it returned
   * `appended`.
   * @throws LogUnavailableError, LogUnknownOutcomeError
   */
  append(entries: readonly Entry[], head: Head): Promise<AppendResult>;

  /**
   * Reads the entries after `lastId`, in order, without a check of their chain values; none if there are none yet. Returned
   * entries are durable, whichever host appended them.
   * @param limit maximum number of entries @param maxBytes approximate maximum bytes of text; at least one entry is returned
   * @throws LogUnavailableError; DamagedLogError if the first entry's payload can't be read
   */
  read(lastId: number, limit: number, maxBytes?: number): Promise<Entry[]>;

  /** The newest entry. @throws LogUnavailableError */
  head(): Promise<Head>;

  /**
   * The id of the log's chain.
   * @param chainId is set if the log has none yet; null sets none
   * @returns null if no chain is set @throws LogUnavailableError
   */
  chain(chainId: number | null): Promise<number | null>;

  /**
   * Resolves when the log may have newer entries than `lastId`, or the signal is aborted. Also resolves while the engine is
   * unreachable: the next `read` throws then.
   */
  wait(lastId: number, signal: AbortSignal): Promise<void>;

  /** Ends pending calls and closes all connections. */
  close(): Promise<void>;
}

/** A host's copy of the log: its journal. */
export interface OwnJournal extends EntrySource {
  /** The chain value of an entry; null if it isn't stored. */
  chainAt(id: number): Uint8Array | null;
}
