/** Looks for changes of the index and tells those who are subscribed: in whatever thread or process the index is read. */
import { type Clock, pause, systemClock } from '../base/clock.ts';
import type { Change } from '../store/model/change.ts';
import { IndexUnavailableError } from '../store/model/read-errors.ts';
import type { Reader } from '../store/read/index-reader.ts';
import type { Snapshots } from '../store/read/snapshots.ts';
import { changeMessages } from './messages.ts';
import type { Subscriptions } from './subscriptions.ts';

export type FeedEvent =
  | { event: 'changes_missed'; from: number; to: number }
  | { event: 'push_failed'; cause: unknown };

/** Milliseconds between two looks. One look costs about as much as the smallest request. */
const INTERVAL_MS = 20;
/** Changes that are read at a time. */
const BATCH = 500;

export interface FeedOptions {
  snapshots: Snapshots;
  subscriptions: Subscriptions;
  log: (event: FeedEvent) => void;
  clock?: Clock;
}

/** Begins to look. @returns what ends it, once the look in hand is done */
export async function startFeed(options: FeedOptions): Promise<() => Promise<void>> {
  const { snapshots, subscriptions, log, clock = systemClock } = options;
  const messagesOf = changeMessages(subscriptions);
  /** The file that was looked at, and its newest change then. Nothing is told of what a new file begins with. */
  let file: number | null = null;
  let last = 0;
  let stopped = false;

  async function tell(read: Reader, changes: readonly Change[]): Promise<void> {
    for (const change of changes) {
      // In this order: what fails is not tried for ever.
      last = change.id;
      for await (const message of messagesOf(read, change)) subscriptions.publish(message);
    }
  }

  /** @returns whether there may be more */
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
      await tell(read, changes);
      return changes.length === BATCH;
    });

  /** What fails is logged; where there is no index, whoever reads it says so. */
  async function lookAgain(): Promise<boolean> {
    try {
      return await look();
    } catch (cause) {
      if (!stopped && !(cause instanceof IndexUnavailableError)) log({ event: 'push_failed', cause });
      return false;
    }
  }

  async function run(): Promise<void> {
    while (!stopped) {
      if (!(await lookAgain())) await pause(clock, INTERVAL_MS);
    }
  }

  await lookAgain();
  const running = run();
  return async () => {
    stopped = true;
    await running;
  };
}
