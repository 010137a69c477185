/**
 * One commit of the index for the events of some milliseconds. The journal has each event on the disk before it is
 * answered, so that the index's commit can wait; and it is the dear one, since a block changes some hundred pages, many
 * of which the next block changes again.
 */
import type { Clock } from '../../base/clock.ts';
import { collectAll } from '../../base/garbage.ts';
import { StoreUnavailableError } from '../files/store-failure.ts';
import type { ReceivedEvent } from './event.ts';
import type { Transactions } from './transactions.ts';
import type { WriterHealth } from './writer-health.ts';

/** The longest that an answered event is seen by this process alone. */
const LONGEST_MS = 20;
/** Bytes of events after which the index is committed at once. */
const MOST_BYTES = 8_000_000;
/**
 * Bytes of events of an import or a replay that share a commit of the index. A commit writes each page that changed once,
 * and most are pages of busy accounts, so that many events together write fewer pages.
 */
export const MOST_BYTES_OF_IMPORT = 32_000_000;

export type SharedCommits = ReturnType<typeof sharedCommits>;

/**
 * What commits events, several of them together where it may.
 * @param after the timer that ends the waiting of events that are answered; null where each is committed by itself
 */
export function sharedCommits(transaction: Transactions, health: WriterHealth, after: Clock['after'] | null) {
  let bytes = 0;
  let cancel: (() => void) | null = null;

  /**
   * Commits what was taken, so that others can read it. A failure is noted in the writer's health: the journal brings the
   * events back, and reads go on with what was committed before.
   */
  function publish(): void {
    cancel?.();
    cancel = null;
    bytes = 0;
    try {
      transaction.release();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  }

  return {
    publish,

    /** Makes an event durable that was applied in the open transaction. @throws StoreUnavailableError */
    keep({ text }: ReceivedEvent): void {
      // Where writes fail, each event shows by itself whether they still do.
      if (after === null || health.failing() !== null) {
        transaction.commit();
        return;
      }
      transaction.hold();
      bytes += text.length;
      if (bytes >= MOST_BYTES) publish();
      else cancel ??= after(LONGEST_MS, publish);
    },

    /**
     * Makes events of an import durable that were applied in the open transaction.
     * @param size bytes of their texts
     * @throws StoreUnavailableError
     */
    keepBatch(size: number): void {
      transaction.hold();
      bytes += size;
      if (bytes < MOST_BYTES_OF_IMPORT) return;
      bytes = 0;
      transaction.release();
      collectAll();
    },
  };
}
