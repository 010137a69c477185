/** The commands of what takes longer than a request: hooks that catch up, and backfills. */
import type { SteppedCommand } from '../../store/ingest/commands.ts';
import { backfillSteps } from '../backfill-step.ts';
import type { CommandParts } from './parts.ts';

/**
 * What moves on: the live hooks, which stand together; a hook that catches up; a backfill. `most` deliveries may wait: the
 * rest is made when some are gone.
 */
export type Task =
  | { of: 'live' }
  | { of: 'catch_up'; hook: number; most: number }
  | { of: 'backfill'; backfill: number; most: number };

export function advanceCommands(parts: CommandParts) {
  const { store, evaluator } = parts;
  const { records, deliveries, backfills } = store;
  const backfillStep = backfillSteps(parts);

  function stepBackfill(id: number, most: number, at: number): boolean {
    const job = backfills.get(id);
    const record = job === undefined ? undefined : records.get(job.hookId);
    if (job === undefined || record === undefined) return true;
    return job.finishedAt !== null || backfillStep(job, record, most, at);
  }

  /** @returns whether it is done, or has to wait for its deliveries */
  function step(task: Task, at: number): boolean {
    switch (task.of) {
      case 'live':
        return evaluator.advanceLive();
      case 'catch_up':
        return deliveries.openUpTo(task.hook, 'live', task.most) === task.most || evaluator.advanceOne(task.hook);
      case 'backfill':
        return stepBackfill(task.backfill, task.most, at);
    }
  }

  const advance: SteppedCommand<Task> = { steps: (task, at) => () => step(task, at) };

  return {
    'hook.advance': advance,

    /** A step can't be taken, such as for lack of a block. */
    'hook.fail'({ task, reason }: { task: Task; reason: string }, at: number): void {
      switch (task.of) {
        case 'live':
          for (const record of records.live()) evaluator.interrupt(record, reason, null);
          return;
        case 'catch_up': {
          const record = records.get(task.hook);
          if (record !== undefined) evaluator.interrupt(record, reason, null);
          return;
        }
        case 'backfill':
          backfills.finish(task.backfill, 'failed', at, reason);
      }
    },
  };
}
