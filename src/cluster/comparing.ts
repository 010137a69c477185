/**
 * Where the log and a host's journal stand to each other. Both are chains: where they have the same value under a number,
 * they have the same entries up to there.
 */
import { firstEntries, type JournalEntry, sameChain } from '../store/files/journal-entry.ts';
import type { SharedEntries } from '../store/ingest/shared-entries.ts';
import { COPIED_TOGETHER } from '../store/log/entry-copy.ts';
import type { LogHead, SharedLog } from '../store/log/shared-log.ts';
import { appendTogether } from './appending.ts';
import { DamagedLogError, DivergedLogError, UnhealableLogError } from './errors.ts';

type Own = Pick<SharedEntries, 'place' | 'chainAt' | 'entriesAfter' | 'gaps'>;
type Log = Pick<SharedLog, 'read' | 'appendTogether'>;

/** Whether the host's entry of that number is the log's; an entry that the journal keeps no more is taken to be. */
function isOwn(own: Own, { seq, chain }: LogHead): boolean {
  const known = own.chainAt(seq);
  return known === null || sameChain(known, chain);
}

/** The log's entry of a number. @throws DamagedLogError where it is missing */
async function entryAt(log: Log, seq: number): Promise<LogHead> {
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
  return new DivergedLogError(await firstDifference(log, own, id));
}

/** The entries that are given back next. @throws UnhealableLogError, JournalEntryError */
function stretchAfter(own: Own, { seq }: LogHead): JournalEntry[] {
  const gap = own.gaps().find(({ last }) => last > seq);
  if (gap !== undefined && gap.first <= seq + 1) throw new UnhealableLogError(seq, gap.last);
  const upToGap = gap === undefined ? COPIED_TOGETHER.entries : gap.first - seq - 1;
  const most = { ...COPIED_TOGETHER, entries: Math.min(COPIED_TOGETHER.entries, upToGap) };
  return [...firstEntries(own.entriesAfter(seq), most)];
}

/**
 * Gives the log the next entries that it lacks of the host's journal. Nobody else may write to the journal meanwhile.
 * @returns the entries that were appended; none where another host gives some back
 * @throws DivergedLogError where the log is no beginning of the journal, UnhealableLogError, LogUnavailableError,
 *   JournalEntryError
 */
export async function heal(log: Log, own: Own, head: LogHead): Promise<readonly JournalEntry[]> {
  if (!isOwn(own, head)) throw new DivergedLogError(await firstDifference(log, own, head.seq));
  const stretch = stretchAfter(own, head);
  return (await appendTogether(log, stretch, head)) === 'conflict' ? [] : stretch;
}
