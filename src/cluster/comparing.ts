/**
 * Where the log and a host's journal stand to each other. Both are chains: where they have the same value under a number,
 * they have the same entries up to there.
 */

import type { HostEntries } from '../store/ingest/ingest.ts';
import { CHAIN_START, type Entry, firstEntries, nextChain, sameChain } from '../store/log/entry.ts';
import { COPIED_TOGETHER } from '../store/log/entry-copy.ts';
import {
  DamagedLogError,
  type EntryFault,
  journalEntryOf,
  type LogEntry,
  type LogHead,
  type SharedLog,
} from '../store/log/shared-log.ts';
import { appendTogether } from './appending.ts';
import { DivergedLogError, UnhealableLogError, UnsoundLogError } from './errors.ts';

type Own = Pick<HostEntries, 'place' | 'chainAt' | 'entriesAfter' | 'gaps'>;
type Log = Pick<SharedLog, 'read' | 'appendTogether'>;

/** Whether the host's entry of that number is the log's; an entry that the journal keeps no more is taken to be. */
function isOwn(own: Own, { seq, chain }: LogHead): boolean {
  const known = own.chainAt(seq);
  return known === null || sameChain(known, chain);
}

/** The log's entry of a number. @throws DamagedLogError where it is missing */
async function entryAt(log: Pick<Log, 'read'>, seq: number): Promise<LogEntry> {
  const [found] = await log.read(seq - 1, 1);
  if (found?.seq !== seq) throw new DamagedLogError(seq, 'is missing');
  return found;
}

/** The first entry that differs, found by halving. @param last one that differs */
async function firstDifference(log: Log, own: Own, last: number): Promise<number> {
  let [same, different] = [0, last];
  while (different - same > 1) {
    const middle = Math.floor((same + different) / 2);
    if (isOwn(own, await entryAt(log, middle))) same = middle;
    else different = middle;
  }
  return different;
}

/** Whether an entry carries the chain value that follows another. */
const follows = (entry: LogEntry, previous: Uint8Array): boolean =>
  sameChain(nextChain(previous, journalEntryOf(entry)), entry.chain);

/**
 * What is wrong where the log's entry of a number is another than the host's: the log is unsound where the first that differs
 * does not follow the one before it, which both have; else both are histories of their own.
 */
async function whyOther(log: Log, own: Own, seq: number): Promise<DamagedLogError | DivergedLogError> {
  const first = await firstDifference(log, own, seq);
  const previous = first === 1 ? CHAIN_START : (await entryAt(log, first - 1)).chain;
  const isSound = follows(await entryAt(log, first), previous);
  return isSound ? new DivergedLogError(first) : new DamagedLogError(first, 'is damaged: its chain value is another');
}

/**
 * What is wrong where an entry of the log doesn't follow the host's last one.
 * @param seq the number of the entry
 */
export async function whyForeign(log: Log, own: Own, seq: number): Promise<DamagedLogError | DivergedLogError> {
  const { id } = own.place();
  if (seq !== id + 1) return new DamagedLogError(id + 1, 'is missing');
  if (id === 0 || isOwn(own, await entryAt(log, id))) {
    return new DamagedLogError(seq, 'is damaged: its chain value is another');
  }
  return whyOther(log, own, id);
}

/** The entries that are given back next. @throws UnhealableLogError, JournalEntryError */
function stretchAfter(own: Own, { seq }: LogHead): Entry[] {
  const gap = own.gaps().find(({ last }) => last > seq);
  if (gap !== undefined && gap.first <= seq + 1) throw new UnhealableLogError(seq, gap.last);
  const upToGap = gap === undefined ? COPIED_TOGETHER.entries : gap.first - seq - 1;
  const most = { ...COPIED_TOGETHER, entries: Math.min(COPIED_TOGETHER.entries, upToGap) };
  return [...firstEntries(own.entriesAfter(seq), most)];
}

/**
 * Gives the log the next entries that it lacks of the host's journal. Nobody else may write to the journal meanwhile.
 * @returns the entries that were appended; none where another host gives some back
 * @throws DivergedLogError where the log is no beginning of the journal, UnsoundLogError, UnhealableLogError,
 *   LogUnavailableError, JournalEntryError
 */
export async function heal(log: Log, own: Own, head: LogHead): Promise<readonly Entry[]> {
  try {
    if (!isOwn(own, head)) throw await whyOther(log, own, head.seq);
  } catch (error) {
    // This host lacks nothing: it need not end.
    throw error instanceof DamagedLogError ? new UnsoundLogError(error) : error;
  }
  const stretch = stretchAfter(own, head);
  return (await appendTogether(log, stretch, head)) === 'conflict' ? [] : stretch;
}

/** Entries of the log that are missing or damaged. */
export interface LogFault {
  first: number;
  last: number;
  fault: EntryFault;
}

/** Entries and bytes that are verified together. */
const VERIFIED_TOGETHER = { entries: 2_000, bytes: 8_000_000 };

/** The entry up to which a log was verified; null in place of the chain value of one that can't be read. */
export type VerifiedTo = Omit<LogHead, 'chain'> & { chain: Uint8Array | null };

/** Entries after one, or what is wrong with the first of them. */
async function readable(log: Pick<SharedLog, 'read'>, after: number): Promise<LogEntry[] | DamagedLogError> {
  try {
    return await log.read(after, VERIFIED_TOGETHER.entries, VERIFIED_TOGETHER.bytes);
  } catch (error) {
    if (error instanceof DamagedLogError) return error;
    throw error;
  }
}

/**
 * Verifies the next entries of a log, each by its number and its chain value.
 * @param found told of what is wrong
 * @returns where to go on; null at the end of the log
 * @throws LogUnavailableError
 */
export async function verifyStretch(
  log: Pick<SharedLog, 'read'>,
  from: VerifiedTo,
  found: (fault: LogFault) => void,
): Promise<VerifiedTo | null> {
  const entries = await readable(log, from.seq);
  const missing = (seq: number, before: number) => {
    if (seq > before + 1) found({ first: before + 1, last: seq - 1, fault: 'is missing' });
  };
  if (entries instanceof DamagedLogError) {
    const { entry, fault } = entries;
    missing(entry, from.seq);
    found({ first: entry, last: entry, fault });
    return { seq: entry, chain: null };
  }
  let at = from;
  for (const entry of entries) {
    const { seq, chain } = entry;
    missing(seq, at.seq);
    if (seq === at.seq + 1 && at.chain !== null && !follows(entry, at.chain)) {
      found({ first: seq, last: seq, fault: 'is damaged: its chain value is another' });
    }
    at = { seq, chain };
  }
  return entries.length === 0 ? null : at;
}

/**
 * Gives the log entries that it lacks before others, where its entries on both sides are those of the host's journal.
 * @returns whether the log has them
 * @throws LogUnavailableError, JournalEntryError
 */
export async function fillHole(
  log: Log,
  own: Omit<Own, 'place'>,
  { first, last }: Omit<LogFault, 'fault'>,
): Promise<boolean> {
  const isKnown = ({ seq, chain }: LogHead): boolean => {
    const known = own.chainAt(seq);
    return known !== null && sameChain(known, chain);
  };
  if (own.gaps().some((gap) => gap.first <= last && gap.last >= first)) return false;
  let head: LogHead = first === 1 ? { seq: 0, chain: CHAIN_START } : await entryAt(log, first - 1);
  if (!isKnown(head) || !isKnown(await entryAt(log, last + 1))) return false;
  while (head.seq < last) {
    const most = { ...COPIED_TOGETHER, entries: Math.min(COPIED_TOGETHER.entries, last - head.seq) };
    const stretch = [...firstEntries(own.entriesAfter(head.seq), most)];
    const newest = stretch.at(-1);
    if (newest === undefined || (await appendTogether(log, stretch, head)) === 'conflict') return false;
    head = { seq: newest.id, chain: newest.chain };
  }
  return true;
}
