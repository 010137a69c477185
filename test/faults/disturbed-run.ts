/** Accepts events over a copy of a directory while calls of SQLite fail, as a node sends them: again, until they are accepted. */

import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { StoreUnavailableError } from '../../src/base/system-errors.ts';
import { Prng } from '../../src/devnet/prng.ts';
import { indexPath } from '../../src/store/files/database.ts';
import type { ReceivedEvent } from '../../src/store/ingest/ingest.ts';
import { copyOf, type DataDirectory } from '../support/data/data-directory.ts';
import { everything } from '../support/data/tables.ts';
import { manualClock } from '../support/time/manual-clock.ts';
import { openWithHooks } from './event-range.ts';
import { type FaultStore, faultStore, faults, never, type Plan } from './fault-store.ts';

/** Random faults, some hundred calls apart, so that events are accepted between two of them. */
export function rain(seed: string): Plan {
  const prng = new Prng(`faults/${seed}`);
  const gap = () => (prng.chance(0.2) ? prng.between(1, 30) : prng.between(30, 1_000));
  let next = gap();
  return ({ number }) => {
    if (number < next) return null;
    next = number + gap();
    return prng.pick(faults);
  };
}

/** Maximum number of attempts per event; no plan fails as many calls. */
const MAX_RETRIES = 1_000;

type Open = ReturnType<typeof openWithHooks>;

/** Requires that a failed call leaves no open transaction for others to wait for, unless ending the transaction failed. */
function holdsNoLock(store: FaultStore, failed: string): void {
  if (failed === 'ROLLBACK') return;
  const open = store.connections.filter((db) => db.inTransaction).map((db) => db.filename);
  expect({ failed, open }).toEqual({ failed, open: [] });
}

/** Accepts an event. @param onRejection called each time that it is not accepted @returns how many attempts failed */
function send({ ingest }: Open, event: ReceivedEvent, onRejection: () => void): number {
  for (let failed = 0; failed < MAX_RETRIES; failed++) {
    try {
      ingest.receive(event);
      return failed;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      onRejection();
    }
  }
  throw new Error('the event was never accepted');
}

/** The changes for subscribers, in order. */
function changes(directory: string): string[] {
  using db = new Database(indexPath(directory), { readonly: true });
  return db
    .query<{ change: string }, []>("SELECT kind || ' ' || hex(subject) AS change FROM changes ORDER BY id")
    .all()
    .map((row) => row.change);
}

/** All that a run leaves: index, journal, and the changes for subscribers. */
const contentsOf = (directory: string) => ({ ...everything(directory), changes: changes(directory) });

interface Run {
  /** State of the files after the run. */
  files: ReturnType<typeof contentsOf>;
  /** Number of SQLite calls for each event, including failed attempts. */
  calls: number[];
  /** Number of failed attempts to accept an event. */
  failed: number;
  /** Events of the log, in order. */
  logged: string[];
  /** The closed copy. The caller must remove it. */
  directory: DataDirectory;
}

/** How events are committed: each by itself, or some together. */
export const waysToCommit = ['each by itself', 'some together'] as const;
export type Committed = (typeof waysToCommit)[number];

/** Events between two ends of the timer of group commits. */
const TOGETHER = 3;

interface Disturbed {
  committed: Committed;
  events: readonly ReceivedEvent[];
  plan: Plan;
  /** Called before each event, with its number and the number of calls so far. */
  begins?(event: number, calls: number): void;
}

/**
 * Accepts events over a copy while calls fail as planned.
 * @throws Error if a delivery was queued without a notification to send it, a lock stays held, or an event is never accepted
 */
export function run(from: DataDirectory, { committed, events, plan, begins }: Disturbed): Run {
  const directory = copyOf(from);
  const store = faultStore();
  const timer = manualClock();
  using open = openWithHooks(directory.path, {
    connect: store.connect,
    ...(committed === 'some together' ? { clock: timer } : {}),
  });
  using reader = new Database(indexPath(directory.path), { readonly: true });
  const count = reader.prepare<{ deliveries: number }, []>('SELECT count(*) AS deliveries FROM hook_deliveries');
  let failing = '';
  store.follow((call) => {
    const fault = plan(call);
    if (fault !== null) failing = call.sql;
    return fault;
  });
  const calls: number[] = [];
  let failed = 0;
  for (const [number, event] of events.entries()) {
    const [deliveries, callsBefore] = [count.get()?.deliveries, store.calls()];
    begins?.(number, callsBefore);
    open.woken.clear();
    failed += send(open, event, () => holdsNoLock(store, failing));
    if (number % TOGETHER === TOGETHER - 1) timer.endWaits();
    calls.push(store.calls() - callsBefore);
    if (count.get()?.deliveries === deliveries) continue;
    // Every queued delivery needs a notification. If a commit took effect but reported a failure, and no event comes
    // next to notify, the server's probe does.
    if (open.woken.size === 0) open.ingest.probe();
    expect(open.woken.size).toBeGreaterThan(0);
  }
  store.follow(never);
  open.ingest.publish();
  open.ingest.probe();
  open.ingest.close();
  return { files: contentsOf(directory.path), calls, failed, logged: open.logged.map(({ event }) => event), directory };
}

/** Runs, and removes the copy. */
export function runOnCopy(from: DataDirectory, disturbed: Disturbed): Omit<Run, 'directory'> {
  const { directory, ...result } = run(from, disturbed);
  directory[Symbol.dispose]();
  return result;
}
