/**
 * Where the log and a host's journal stand to each other. Both are chains: where they have the same value under a number,
 * they have the same entries up to there.
 */
import { type JournalEntry, sameChain } from '../store/files/journal-entry.ts';
import type { AppendEntry, SharedEntries } from '../store/ingest/shared-entries.ts';
import type { LogHead, SharedLog } from '../store/log/shared-log.ts';
import { DamagedLogError, DivergedLogError } from './errors.ts';

type Own = Pick<SharedEntries, 'place' | 'chainAt' | 'entriesAfter'>;
type Log = Pick<SharedLog, 'read'>;

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

/**
 * Gives the log what it lacks of the host's journal. Nobody else may write to the journal meanwhile.
 * @returns the entries that were appended; another host may have appended others of them
 * @throws DivergedLogError where the log is no beginning of the journal, LogUnavailableError, JournalEntryError
 */
export async function heal(log: Log, own: Own, head: LogHead, append: AppendEntry): Promise<JournalEntry['id'][]> {
  if (!isOwn(own, head)) throw new DivergedLogError(await firstDifference(log, own, head.seq));
  const appended: number[] = [];
  let last = { id: head.seq, chain: head.chain };
  for (const entry of own.entriesAfter(head.seq)) {
    if ((await append(entry, last)) === 'conflict') break;
    appended.push(entry.id);
    last = entry;
  }
  return appended;
}
