/** Events into both files: each applied to the index in an open transaction, then written to the journal. */
import { readPayload } from '../../chain/payload-reader.ts';
import { placeAfter } from '../files/journal-link.ts';
import { unavailable } from '../files/store-failure.ts';
import type { DataFiles } from './data-files.ts';
import type { ReceivedEvent } from './event.ts';
import type { Applied, EventRouter } from './event-router.ts';
import type { SharedCommits } from './shared-commits.ts';
import type { Transactions } from './transactions.ts';

type Files = Pick<DataFiles, 'journal' | 'places' | 'imports'>;

/** What takes events. @throws as the router does, and StoreUnavailableError */
export function eventTaker(
  { journal, places, imports }: Files,
  router: Pick<EventRouter, 'apply'>,
  transaction: Transactions,
  commits: SharedCommits,
) {
  /** Applies the event in a transaction that may hold others. @param live whether subscribers are told of it */
  function take(event: ReceivedEvent, live: boolean): Applied {
    const payload = readPayload(event.path, event.text);
    transaction.begin();
    const last = transaction.guarded(places.current);
    const applied = transaction.step(() => router.apply(payload, event, last.id + 1, live));
    if (applied.outcome === 'applied') {
      const { receivedAt, path, text } = event;
      const { id, chain } = placeAfter(last, event);
      places.set({ id, chain });
      transaction.guarded(() => journal.append({ id, receivedAt, path, text, chain }));
    }
    return applied;
  }

  /**
   * Keeps how far the source of an event is read, in the open transaction or in a new one.
   * @returns whether anything was written
   */
  function keepPlace({ read }: ReceivedEvent): boolean {
    if (read === undefined) return false;
    transaction.begin();
    transaction.guarded(() => imports.set(read.source, read.upTo));
    return true;
  }

  /** Runs `work`; where it throws, nothing stays of what it wrote. */
  function wholly<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      transaction.rollback();
      throw error;
    }
  }

  /** The events that were taken in the open transaction of a batch. */
  let batch: ReceivedEvent[] = [];

  function endBatch(end: () => void): void {
    batch = [];
    end();
  }

  function takeInBatch(event: ReceivedEvent): Applied {
    try {
      const applied = take(event, false);
      batch.push(event);
      return applied;
    } catch (error) {
      if (transaction.isOpen()) throw error;
      const before = batch;
      batch = [];
      if (unavailable(error) === null) for (const one of before) takeInBatch(one);
      throw error;
    }
  }

  return {
    /**
     * Takes an event of a batch, which `keep` or `commit` makes durable. Where an event can't be taken, those before it stay: they
     * are taken again, which costs less than a savepoint before each event.
     */
    takeInBatch,
    keep(): void {
      const size = batch.reduce((sum, { text }) => sum + text.length, 0);
      endBatch(() => commits.keepBatch(size));
    },
    commit: (): void =>
      endBatch(() => {
        transaction.commit();
        transaction.release();
      }),
    rollback: (): void => endBatch(transaction.rollback),

    /** Takes an event that is answered by itself: when this returns, the event is on the disk. */
    takeAlone: (event: ReceivedEvent): Applied =>
      wholly(() => {
        const applied = take(event, true);
        const isKept = keepPlace(event) || applied.outcome === 'applied';
        if (isKept) commits.keep(event);
        else transaction.leave();
        return applied;
      }),

    /** Leaves out an event that was taken before. */
    passOver: (event: ReceivedEvent): void =>
      wholly(() => {
        if (keepPlace(event)) commits.keep(event);
      }),
  };
}
