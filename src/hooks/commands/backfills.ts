/** Commands by which consumers start and cancel backfills. */
import type { HookStore } from '../../store/hooks/store.ts';
import { HookProblem, unknownHook } from '../problem.ts';
import type { CommandParts } from './parts.ts';

/** A backfill, by the id of its hook and its own uuid. */
export interface BackfillName {
  hook: number;
  job: string;
}

/** @throws HookProblem 404 */
export function foundBackfill({ backfills }: Pick<HookStore, 'backfills'>, { hook, job }: BackfillName) {
  const backfill = backfills.find(job.toLowerCase(), hook);
  if (backfill === undefined) throw new HookProblem(404, 'Backfill not found');
  return backfill;
}

interface NewBackfill extends BackfillName {
  from: number;
  to: number;
  dryRun: boolean;
  /** Backfills of the hook that may wait. */
  most: number;
}

export function backfillCommands({ store, evaluator }: CommandParts) {
  const { backfills, deliveries, records } = store;
  return {
    'backfill.start'({ hook, job, from, to, dryRun, most }: NewBackfill, at: number): void {
      // The hook may have been deleted while others wrote.
      if (records.get(hook) === undefined) throw unknownHook();
      if (backfills.openOf(hook) >= most) {
        throw new HookProblem(429, `No more than ${most} backfills of a chainhook may wait: try again`);
      }
      backfills.add({ uuid: job, hookId: hook, dryRun, from, to }, at);
      evaluator.wake();
    },

    'backfill.cancel'(name: BackfillName, at: number): void {
      const { id } = foundBackfill(store, name);
      backfills.finish(id, 'cancelled', at);
      deliveries.cancelBackfill(id);
      // Backfills behind it may have room now.
      evaluator.wake();
    },
  };
}
