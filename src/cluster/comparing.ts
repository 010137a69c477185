/**
 * Compares the log with a host's journal, and gives the log entries that it lost. Both are chains of hashes: if they have the
 * same chain value at a number, they have the same entries up to it.
 */
import { OperatorError, TemporaryError } from '../base/errors.ts';
import type { ForeignEntryError } from '../store/ingest/writer.ts';
import { type Entry, firstEntries, type Head, LOG_START, nextChain, sameChain } from '../store/log/entry.ts';
import {
  type AppendResult,
  DamagedLogError,
  type EntryFault,
  LogUnavailableError,
  LogUnknownOutcomeError,
  type OwnJournal,
  type SharedLog,
} from './shared-log.ts';

type Log = Pick<SharedLog, 'read' | 'append'>;

/** The error for a log and a journal that are different histories. @param id the first entry that differs */
const divergedLog = (id: number): OperatorError =>
  new OperatorError(
    `Entry ${id} of the cluster's log differs from entry ${id} of this host's journal.`,
    'Check --cluster and --cluster-prefix. If they are right, the log lost entries that this host had acknowledged, and ' +
      'accepted others: keep this data directory aside, and start this host with an empty one.',
  );

/** Reports whether the host and the log have the same entry at a number. */
function hasEntry(journal: OwnJournal, { id, chain }: Head): boolean {
  const chainValue = journal.chainAt(id);
  return chainValue !== null && sameChain(chainValue, chain);
}

/** Reads one entry of the log. @throws DamagedLogError if it is missing */
async function entryAt(log: Pick<Log, 'read'>, id: number): Promise<Entry> {
  const [entry] = await log.read(id - 1, 1);
  if (entry?.id !== id) throw new DamagedLogError(id, 'is missing');
  return entry;
}

/** Returns an entry's number and chain value, or those of the log's start. @throws DamagedLogError if the entry is missing */
const headAt = async (log: Pick<Log, 'read'>, id: number): Promise<Head> =>
  id === LOG_START.id ? LOG_START : entryAt(log, id);

const follows = (entry: Entry, previous: Uint8Array): boolean => sameChain(nextChain(previous, entry), entry.chain);

// ── Causes of differences ──

/** Finds the first entry that differs. @param start an entry that doesn't differ @param last an entry that differs */
async function firstDifference(log: Log, journal: OwnJournal, start: number, last: number): Promise<number> {
  let [same, different] = [start, last];
  while (different - same > 1) {
    const middle = Math.floor((same + different) / 2);
    if (hasEntry(journal, await entryAt(log, middle))) same = middle;
    else different = middle;
  }
  return different;
}

/**
 * Returns the cause of a different entry. The log is damaged if its first different entry doesn't follow the entry before it,
 * which the journal also has. Otherwise log and journal are different histories.
 */
async function explainDifference(log: Log, journal: OwnJournal, id: number): Promise<OperatorError> {
  const first = await firstDifference(log, journal, LOG_START.id, id);
  const isSound = follows(await entryAt(log, first), (await headAt(log, first - 1)).chain);
  return isSound ? divergedLog(first) : new DamagedLogError(first, 'is damaged: its chain value is wrong');
}

/**
 * Returns the cause if an entry of the log doesn't follow the host's last one.
 * @param foreign the number of the log's entry, and the host's last entry
 */
export async function explainMismatch(
  log: Log,
  journal: OwnJournal,
  { id, last }: Pick<ForeignEntryError, 'id' | 'last'>,
): Promise<OperatorError> {
  if (id !== last + 1) return new DamagedLogError(last + 1, 'is missing');
  if (hasEntry(journal, await headAt(log, last))) {
    return new DamagedLogError(id, 'is damaged: its chain value is wrong');
  }
  return explainDifference(log, journal, last);
}

// ── Giving entries to the log ──

/**
 * Appends consecutive entries, at least one; if the answer is lost, looks up whether they were appended.
 * @throws LogUnavailableError, caused by a LogUnknownOutcomeError if that remains unknown
 */
export async function appendAndConfirm(log: Log, entries: readonly Entry[], head: Head): Promise<AppendResult> {
  let failure: LogUnknownOutcomeError;
  try {
    return await log.append(entries, head);
  } catch (error) {
    if (!(error instanceof LogUnknownOutcomeError)) throw error;
    failure = error;
  }
  const outcome = await lookUp(log, entries).catch((error: unknown) => {
    if (!(error instanceof LogUnavailableError)) throw error;
    throw new LogUnavailableError(error.message, { cause: failure });
  });
  // The entries may still arrive. This host then follows them like another host's entries, and their events are repetitions.
  if (outcome === null) throw new LogUnavailableError(failure.message, { cause: failure });
  return outcome;
}

/** Looks up whether entries were appended; null if the log has none with their numbers. @throws LogUnavailableError */
async function lookUp(log: Pick<Log, 'read'>, entries: readonly Entry[]): Promise<AppendResult | null> {
  // The append is atomic: if the log has the last entry, it has all.
  const isStored = async ({ id, chain }: Head): Promise<boolean | null> => {
    const [entry] = await log.read(id - 1, 1);
    return entry?.id === id ? sameChain(entry.chain, chain) : null;
  };
  const [first, last] = [entries[0]!, entries.at(-1)!];
  const isAppended = await isStored(last);
  if (isAppended !== null) return isAppended ? 'appended' : 'conflict';
  // Other hosts may have appended fewer entries.
  return first !== last && (await isStored(first)) === false ? 'conflict' : null;
}

/** Maximum entries of a batch, and bytes after which no more are added. */
const APPEND_BATCH = { entries: 2_000, bytes: 8_000_000 };

/**
 * Gives the log the next entries of the journal after the log's `head`.
 * @param last the last entry to give
 * @returns the newest entry given; null if the log has others there, or the journal has none
 * @throws LogUnavailableError, OperatorError
 */
async function appendNext(log: Log, journal: OwnJournal, head: Head, last: number): Promise<Head | null> {
  const limits = { ...APPEND_BATCH, entries: Math.min(APPEND_BATCH.entries, last - head.id) };
  const entries = [...firstEntries(journal.after(head.id), limits)];
  if (entries.length === 0 || (await appendAndConfirm(log, entries, head)) === 'conflict') return null;
  return entries.at(-1) ?? null;
}

/**
 * Gives the log the next entries that it lost and the host's journal has. The journal must not change during the call.
 * @param head the newest entry of the log, which should be in the journal
 * @returns the newest entry given; null if another host gives some
 * @throws OperatorError if the log is not a beginning of the journal, LogUnavailableError, caused by a DamagedLogError if it is
 *   damaged
 */
export async function heal(log: Log, journal: OwnJournal, head: Head): Promise<Head | null> {
  try {
    if (!hasEntry(journal, head)) throw await explainDifference(log, journal, head.id);
  } catch (error) {
    // This host has all entries, so it need not end. It serves its own data until the log is repaired.
    throw error instanceof DamagedLogError
      ? new LogUnavailableError(`the cluster's log is corrupt: entry ${error.entry} ${error.fault}`, { cause: error })
      : error;
  }
  return appendNext(log, journal, head, journal.head().id);
}

/**
 * Gives the log entries that are missing between others, if the entries on both sides match the host's journal.
 * @returns whether the log has them
 * @throws LogUnavailableError, OperatorError
 */
export async function fillHole(log: Log, journal: OwnJournal, hole: Omit<LogFault, 'fault'>): Promise<boolean> {
  const { first, last } = hole;
  let head = await headAt(log, first - 1);
  if (!hasEntry(journal, head) || !hasEntry(journal, await entryAt(log, last + 1))) return false;
  while (head.id < last) {
    const newest = await appendNext(log, journal, head, last);
    if (newest === null) return false;
    head = newest;
  }
  return true;
}

/** @throws OperatorError unless the journal continues the log from its newest entry, LogUnavailableError */
async function requireContinuation(log: Pick<Log, 'read'>, journal: OwnJournal, head: Head): Promise<void> {
  const { id: last } = journal.head();
  const common = last < head.id ? await headAt(log, last) : head;
  if (!hasEntry(journal, common) && common.id !== LOG_START.id) {
    throw new OperatorError(
      `The shared log doesn't belong to this journal: entry ${common.id} differs.`,
      'Give the data directory of a host of this log, or another --cluster-prefix for a new log.',
    );
  }
  if (last < head.id) {
    throw new OperatorError(
      `The shared log has ${head.id} entries already, and the journal only ${last}.`,
      'Start this host with --cluster: it reads the missing entries from the log. Give another --cluster-prefix for another log.',
    );
  }
}

/**
 * Gives the log all entries of a journal that the log lacks. The journal must not change during the call. The next run
 * continues an interrupted one.
 * @param filled called after each transaction with the number of the newest entry
 * @returns the log's newest entry
 * @throws OperatorError if the log is not a beginning of the journal, or the journal is damaged; TemporaryError if
 *   another host appends at the same time; LogUnavailableError
 */
export async function fillLog(log: SharedLog, journal: OwnJournal, filled: (id: number) => void): Promise<Head> {
  let head = await log.head();
  await requireContinuation(log, journal, head);
  for (const last = journal.head().id; head.id < last; filled(head.id)) {
    const newest = await appendNext(log, journal, head, last);
    if (newest === null) {
      throw new TemporaryError(
        `Another host appended entry ${head.id + 1} to the shared log at the same time.`,
        'Run the command again: it continues at the end of the log.',
      );
    }
    head = newest;
  }
  // Entries of an interrupted run may be on one disk only; a read waits until the quorum has them.
  await log.read(head.id - 1, 1);
  return head;
}

// ── Verifying the log ──

/** A range of missing or damaged entries of the log. */
export interface LogFault {
  first: number;
  last: number;
  fault: EntryFault;
}

/** Entries and bytes of a batch that is verified. */
const VERIFY_BATCH = { entries: 2_000, bytes: 8_000_000 };

/** The newest verified entry of a log; `chain` is null if that entry can't be read. */
export type VerifiedEntry = Omit<Head, 'chain'> & { chain: Uint8Array | null };

/** Reads the entries after a number. Returns the error if the first of them can't be read. */
async function readBatch(log: Pick<Log, 'read'>, lastId: number): Promise<Entry[] | DamagedLogError> {
  try {
    return await log.read(lastId, VERIFY_BATCH.entries, VERIFY_BATCH.bytes);
  } catch (error) {
    if (error instanceof DamagedLogError) return error;
    throw error;
  }
}

/**
 * Verifies the next entries of a log, each by its number and its chain value.
 * @param report called with each fault
 * @returns where to continue; null at the end of the log
 * @throws LogUnavailableError
 */
export async function verifyRange(
  log: Pick<Log, 'read'>,
  from: VerifiedEntry,
  report: (fault: LogFault) => void,
): Promise<VerifiedEntry | null> {
  const entries = await readBatch(log, from.id);
  const reportGap = (id: number, previous: number) => {
    if (id > previous + 1) report({ first: previous + 1, last: id - 1, fault: 'is missing' });
  };
  if (entries instanceof DamagedLogError) {
    const { entry, fault } = entries;
    reportGap(entry, from.id);
    report({ first: entry, last: entry, fault });
    return { id: entry, chain: null };
  }
  let verified = from;
  for (const entry of entries) {
    const { id, chain } = entry;
    reportGap(id, verified.id);
    if (id === verified.id + 1 && verified.chain !== null && !follows(entry, verified.chain)) {
      report({ first: id, last: id, fault: 'is damaged: its chain value is wrong' });
    }
    verified = { id, chain };
  }
  return entries.length === 0 ? null : verified;
}
