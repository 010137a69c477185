/** Looks through the past for what a hook matches, in small slices, so that a search holds up nobody. */
import { type Clock, systemClock } from '../base/clock.ts';
import { turnAfter } from '../base/turns.ts';
import type { MatchedBlock } from './payload.ts';
import { HookProblem } from './problem.ts';
import type { Scanner } from './scan.ts';

/** Heights that one search goes through at most. */
export const MOST_BLOCKS = 1_000;
/** Transactions after which a search for the newest match ends: whole blocks are read, however large. */
const MOST_TRANSACTIONS = 20_000;
/** Searches of one consumer that may wait, beside the one that is under way. */
const MOST_WAITING = 16;
/** Milliseconds until others have their turn. */
const SLICE_MS = 10;

/** Where a search for the newest match ended. */
export interface Found {
  /** Null where nothing matched. */
  matched: MatchedBlock | null;
  /** The lowest height that was looked at; null where there was none to look at. */
  searchedFrom: number | null;
}

export type Search = ReturnType<typeof search>;

/** @param most transactions that a search for the newest match goes through */
export function search(clock: Clock = systemClock, most = MOST_TRANSACTIONS) {
  /** The searches of each consumer that are not done. */
  const searchesOf = new Map<string, number>();
  let last: Promise<unknown> = Promise.resolve();

  /**
   * One search after the other: ten at once would take ten slices of every turn.
   * @throws HookProblem 429 where too many of the consumer wait
   */
  async function alone<T>(consumer: string, work: () => Promise<T>): Promise<T> {
    const before = searchesOf.get(consumer) ?? 0;
    if (before > MOST_WAITING) {
      throw new HookProblem(429, 'Too many of your previews and tests search the chain at the moment: try again');
    }
    searchesOf.set(consumer, before + 1);
    const previous = last;
    const done = (async () => {
      await previous;
      return work();
    })();
    // The next one waits for the end of this one, whatever its outcome.
    last = done.then(
      () => {},
      () => {},
    );
    try {
      return await done;
    } finally {
      const left = (searchesOf.get(consumer) ?? 1) - 1;
      if (left === 0) searchesOf.delete(consumer);
      else searchesOf.set(consumer, left);
    }
  }

  return {
    /** Gives every block of the range that matches to `add`, ascending. */
    each: (
      consumer: string,
      scan: Scanner,
      from: number,
      to: number,
      add: (matched: MatchedBlock) => void,
    ): Promise<void> =>
      alone(consumer, async () => {
        const pause = turnAfter(SLICE_MS, clock);
        for (let found = scan.next(from, to); found !== null; found = scan.next(found.height + 1, to)) {
          if (found.matched !== null) add(found.matched);
          await pause();
        }
      }),

    /** The newest block below a height that matches: of {@link MOST_BLOCKS}, fewer where they are large. */
    newest: (consumer: string, scan: Scanner, below: number): Promise<Found> =>
      alone(consumer, async () => {
        const lowest = Math.max(1, below - MOST_BLOCKS);
        const pause = turnAfter(SLICE_MS, clock);
        let transactions = 0;
        for (let found = scan.previous(lowest, below - 1); found !== null; ) {
          const { height, matched } = found;
          transactions += found.transactions;
          if (matched !== null || transactions >= most) return { matched, searchedFrom: height };
          await pause();
          found = scan.previous(lowest, height - 1);
        }
        return { matched: null, searchedFrom: lowest < below ? lowest : null };
      }),
  };
}
