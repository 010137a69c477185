/**
 * Polls the index for changes and pushes them to subscribers, in every thread or process that serves realtime clients.
 * Nothing is polled while there is no subscriber.
 */
import { type Clock, pause, systemClock } from '../base/clock.ts';
import { TURN_MS, turnAfter } from '../base/turns.ts';
import type { Change } from '../store/model/change.ts';
import { IndexUnavailableError } from '../store/model/read-errors.ts';
import type { Reader } from '../store/read/index-reader.ts';
import type { Snapshots } from '../store/read/snapshots.ts';
import { changeMessages } from './messages.ts';
import type { Subscriptions } from './subscriptions.ts';

export type FeedEvent =
  | { event: 'changes_missed'; from: number; to: number }
  | { event: 'push_failed'; cause: unknown };

/** Milliseconds between two polls. A poll costs about as much as the smallest request. */
const INTERVAL_MS = 20;
/** Maximum number of changes read by one poll. */
const BATCH = 500;
/** Milliseconds after which a poll ends with the change in hand: a snapshot that is read for too long is cut off. */
const LONGEST_POLL_MS = 1_000;

export interface FeedOptions {
  snapshots: Snapshots;
  subscriptions: Subscriptions;
  log: (event: FeedEvent) => void;
  clock?: Clock;
}

/** Polls while there are subscribers. @returns a function that ends it after the poll in progress */
export function startFeed(options: FeedOptions): () => Promise<void> {
  const { snapshots, subscriptions, log, clock = systemClock } = options;
  const messagesOf = changeMessages(subscriptions);
  /**
   * The index file of the last poll, and its newest change. Changes that a new file begins with are not pushed, and
   * neither are those from before the first subscription.
   */
  let file: number | null = null;
  let last = 0;
  let stopped = false;
  /** Ends the wait for a subscriber; null while there is no such wait. */
  let awaken: (() => void) | null = null;

  /**
   * Pushes changes, and shares the thread meanwhile: a block may have thousands of messages.
   * @returns whether time was up before all were pushed
   */
  async function tell(read: Reader, changes: readonly Change[]): Promise<boolean> {
    const step = turnAfter(TURN_MS, clock);
    const end = clock.monotonic() + LONGEST_POLL_MS;
    for (const change of changes) {
      if (clock.monotonic() >= end) return true;
      // The change counts as pushed before it is, so that one that fails is not tried for ever.
      last = change.id;
      for await (const message of messagesOf(read, change)) {
        subscriptions.publish(message);
        await step();
      }
    }
    return false;
  }

  /** Polls once. @returns whether there may be more changes */
  const look = (): Promise<boolean> =>
    snapshots.read(async (read) => {
      if (read.file !== file) {
        last = await read.changes.newest();
        file = read.file;
        return false;
      }
      const changes = await read.changes.after(last, BATCH);
      const first = changes[0];
      if (first === undefined) return false;
      if (first.id !== last + 1) log({ event: 'changes_missed', from: last + 1, to: first.id - 1 });
      const isCutShort = await tell(read, changes);
      return isCutShort || changes.length === BATCH;
    });

  /** Polls and logs a failure. A missing index is not logged here, since the reader of the index logs it. */
  async function lookAgain(): Promise<boolean> {
    try {
      return await look();
    } catch (cause) {
      if (!stopped && !(cause instanceof IndexUnavailableError)) log({ event: 'push_failed', cause });
      return false;
    }
  }

  /** Resolves once there is a subscriber, or the feed is to end. */
  const subscriber = (): Promise<void> =>
    new Promise((resolve) => {
      awaken = resolve;
    });

  async function run(): Promise<void> {
    while (!stopped) {
      if (subscriptions.isEmpty()) await subscriber();
      else if (!(await lookAgain())) await pause(clock, INTERVAL_MS);
    }
  }

  subscriptions.onFirst(() => {
    // A poll in progress goes on from where it stands, which is before this subscription.
    if (awaken === null) return;
    // The newest change is read before anything else happens: whatever comes after the subscription is pushed.
    file = null;
    void lookAgain().then(awaken);
    awaken = null;
  });
  const running = run();
  return async () => {
    stopped = true;
    awaken?.();
    await running;
  };
}
