/** Finds the last event up to which two journals agree. */
import { openJournalReader } from '../../store/files/journal.ts';
import { CHAIN_START, type Head, sameChain } from '../../store/log/entry.ts';
import type { JournalSource } from './journal-sources.ts';

/**
 * The last event up to which a journal agrees with that of this data; number 0 where none is known. Events that either of them
 * has trimmed can't be compared; later ones can.
 */
export async function lastCommon(
  directory: string,
  source: Pick<JournalSource, 'chainAt'>,
  place: Pick<Head, 'id'>,
): Promise<Head> {
  const journal = openJournalReader(directory);
  try {
    let common: Head = { id: 0, chain: CHAIN_START };
    for (let [from, to] = [1, place.id]; from <= to; ) {
      const id = (from + to) >> 1;
      const ours = journal.chainAt(id);
      const theirs = await source.chainAt(id);
      const isKnown = ours !== null && theirs !== 'trimmed';
      if (isKnown && (theirs === null || !sameChain(ours, theirs))) {
        to = id - 1;
      } else {
        if (isKnown) common = { id, chain: ours };
        from = id + 1;
      }
    }
    return common;
  } finally {
    journal.close();
  }
}
