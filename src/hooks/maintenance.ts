/** Forgets what is old: bodies and rows of what was delivered, and what stands too deep in the chain to leave it. */
import type { Clock } from '../base/clock.ts';
import type { HookStore } from '../store/hooks/store.ts';
import type { Write } from '../store/ingest/ingest.ts';
import { type HookLog, logTaskFailure } from './log-event.ts';

const EVERY_MS = 60_000;
/** Rows that a step takes at most, so that it stays short. */
const BATCH = 2_000;
/** Bodies of delivered ones that a hook keeps. */
const MOST_BODIES = 10_000;
/** The log outlives the bodies so many times. */
const LOG_LASTS = 4;
/** Bitcoin blocks below the tip that hooks are still notified of when a reorganization replaces them. */
const REORG_WINDOW = 150;

/** Forgets what is kept no longer, in intervals. */
export interface Maintenance {
  start(): void;
  /** Resolves when the step in hand is done. */
  stop(): Promise<void>;
  /** Once, now, in steps between which others have their turn. */
  run(): Promise<void>;
}

interface MaintenanceOptions {
  store: HookStore;
  write: Write;
  retentionMs: number;
  log: HookLog;
  clock: Clock;
  /** The number of bodies that a hook keeps; for tests. */
  mostBodies?: number;
}

/** Does a part of something. @returns whether there is more of it */
type Step = () => Promise<boolean>;

/** Begins nothing by itself: `start` does. */
export function maintenance(options: MaintenanceOptions): Maintenance {
  const { store, write, retentionMs, log, clock, mostBodies = MOST_BODIES } = options;
  const { deliveries, ledger, records, backfills, candidates } = store;
  let end = () => {};
  let stopped = false;
  let working: Promise<void> | null = null;
  /** The last delivery whose body was forgotten for its age, and for each hook the last one forgotten for their number. */
  let agedUpTo = { createdAt: 0, id: 0 };
  const surplusUpTo = new Map<number, number>();

  async function forgetAged(): Promise<boolean> {
    const forgotten = await write(() => deliveries.forgetBodies(agedUpTo, clock.now() - retentionMs, BATCH));
    agedUpTo = forgotten.last ?? agedUpTo;
    return forgotten.count === BATCH;
  }

  async function forgetSurplus(hookId: number): Promise<boolean> {
    const after = surplusUpTo.get(hookId) ?? 0;
    const forgotten = await write(() => deliveries.keepBodies(hookId, mostBodies, after, BATCH));
    surplusUpTo.set(hookId, forgotten.last ?? after);
    return forgotten.count === BATCH;
  }

  /** A deleted hook goes with what its log still has: what is dead is not forgotten by its age. */
  function forgetDeleted(): Promise<boolean> {
    return write(() => {
      const id = records.deletedBefore(clock.now() - LOG_LASTS * retentionMs);
      if (id === null) return false;
      if (deliveries.forgetOf(id, BATCH) === BATCH) return true;
      backfills.forgetOf(id);
      records.forget(id);
      surplusUpTo.delete(id);
      return true;
    });
  }

  const steps = (): Step[] => [
    forgetAged,
    async () => (await write(() => deliveries.forgetRows(clock.now() - LOG_LASTS * retentionMs, BATCH))) === BATCH,
    async () => (await write(() => ledger.forgetBelow(candidates.tipBurnHeight() - REORG_WINDOW, BATCH))) === BATCH,
    forgetDeleted,
    ...records.withLongLog(mostBodies).map((id) => () => forgetSurplus(id)),
  ];

  async function work(): Promise<void> {
    try {
      for (const step of steps()) {
        while (!stopped && (await step())) await clock.turn();
        await clock.turn();
      }
    } catch (error) {
      logTaskFailure(log, error);
    } finally {
      working = null;
    }
  }

  function run(): Promise<void> {
    working ??= work();
    return working;
  }

  return {
    run,
    start() {
      end = clock.every(EVERY_MS, run);
    },
    async stop() {
      stopped = true;
      end();
      await working;
    },
  };
}
