/**
 * What takes longer than a request: hooks that catch up, and backfills. It is done in small slices between the events of
 * the node, each a transaction, so that neither waits for the other.
 */

import type { Write } from '../store/ingest/ingest.ts';
import { slices } from '../store/ingest/slices.ts';
import { type BackfillStepOptions, backfillSteps } from './backfill-step.ts';
import { type HookLog, logTaskFailure } from './log-event.ts';

/** Deliveries of a hook that may wait while it catches up: the rest is made when some are gone. */
const MOST_CAUGHT_UP = 1_000;
/** Milliseconds until a task is tried again that failed because the database was unavailable. */
const RETRY_MS = 1_000;

/** What the tasks work with. */
export interface TaskOptions extends BackfillStepOptions {
  write: Write;
  log: HookLog;
}

export type HookTasks = ReturnType<typeof hookTasks>;

/** The tasks beside the node's events; they run one slice at a time. */
export function hookTasks(options: TaskOptions) {
  const { store, evaluator, write, log, clock } = options;
  const { records, deliveries, backfills } = store;
  const backfillStep = backfillSteps(options);
  const slice = slices(write, clock);
  let running = false;
  let stopped = true;
  let again = false;
  let finished: Promise<void> = Promise.resolve();
  let cancelRetry = () => {};

  function liveSlice(): Promise<boolean> {
    return slice(evaluator.advanceLive, (reason) => {
      for (const record of records.live()) evaluator.interrupt(record, reason, null);
    });
  }

  /** @returns whether it stands with the live ones, or has to wait for its deliveries */
  function catchUpSlice(id: number): Promise<boolean> {
    return slice(
      () => deliveries.openUpTo(id, 'live', MOST_CAUGHT_UP) === MOST_CAUGHT_UP || evaluator.advanceOne(id),
      (reason) => {
        const record = records.get(id);
        if (record !== undefined) evaluator.interrupt(record, reason, null);
      },
    );
  }

  /** @returns whether it is done, or has to wait for its deliveries */
  async function backfillSlice(id: number): Promise<boolean> {
    const job = backfills.get(id);
    const record = job === undefined ? undefined : records.get(job.hookId);
    if (job === undefined || record === undefined) return true;
    return slice(
      () => {
        const current = backfills.get(id);
        const hook = records.get(job.hookId);
        if (current === undefined || hook === undefined) return true;
        return current.finishedAt !== null || backfillStep(current, hook);
      },
      (reason, error) => {
        backfills.finish(id, 'failed', clock.now(), reason);
        log({ event: 'hook_backfill_failed', uuid: record.uuid, backfill: job.uuid, cause: error });
      },
    );
  }

  /** A slice of each task; others have their turn after each. @returns whether there is more to do now */
  async function round(): Promise<boolean> {
    if (!(await liveSlice())) return true;
    let more = false;
    for (const id of records.catchingUp()) {
      // Whoever has caught up joins them: they must stand at the tip.
      if (stopped || !(await liveSlice())) return true;
      more = !(await catchUpSlice(id)) || more;
      await clock.turn();
    }
    for (const id of backfills.next()) {
      if (stopped) return true;
      more = !(await backfillSlice(id)) || backfills.get(id)?.finishedAt !== null || more;
      await clock.turn();
    }
    return more;
  }

  async function run(): Promise<void> {
    running = true;
    try {
      // Whoever wakes it is in the middle of something else.
      await clock.turn();
      do {
        again = false;
        while (!stopped && (await round())) await clock.turn();
      } while (again && !stopped);
    } catch (error) {
      logTaskFailure(log, error);
      cancelRetry = clock.after(RETRY_MS, wake);
    } finally {
      running = false;
    }
  }

  function wake(): void {
    if (stopped) return;
    if (running) again = true;
    else finished = run();
  }

  return {
    /** There may be something to do. */
    wake,
    start(): void {
      stopped = false;
      wake();
    },
    /** Resolves when the slice in hand is done. */
    async stop(): Promise<void> {
      stopped = true;
      cancelRetry();
      await finished;
    },
  };
}
