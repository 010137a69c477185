/**
 * Commands of backfills and of hooks that catch up. Both take longer than a request, so they advance in small batches.
 */
import type { Backfill } from '../../store/hooks/model.ts';
import type { HookReads } from '../../store/hooks/store.ts';
import type { BatchedCommand } from '../../store/ingest/commands.ts';
import { type ActiveHook, activeHook } from '../definition/definition.ts';
import type { HookEngine } from '../engine.ts';
import { queueRequested } from '../evaluation/notifications.ts';
import type { MatchedBlock } from '../evaluation/payload.ts';
import { scanner } from '../matching/scan.ts';
import { HookProblem, unknownHook } from '../problem.ts';

/** Identifies a backfill by the id of its hook and its uuid. */
interface BackfillName {
  hook: number;
  job: string;
}

/** @throws HookProblem 404 */
export function requireBackfill({ backfills }: Pick<HookReads, 'backfills'>, { hook, job }: BackfillName): Backfill {
  const backfill = backfills.find(job.toLowerCase(), hook);
  if (backfill === undefined) throw new HookProblem(404, 'Backfill not found');
  return backfill;
}

interface NewBackfill extends BackfillName {
  from: number;
  to: number;
  dryRun: boolean;
  /** Maximum waiting backfills of the hook. */
  most: number;
}

/** A task that advances. `most`: maximum deliveries that may wait; the task continues when some are delivered. */
export type Task = { of: 'catch_up'; hook: number; most: number } | { of: 'backfill'; backfill: number; most: number };

export function backfillCommands(engine: HookEngine) {
  const { store, history } = engine;
  const { records, deliveries, backfills, ledger, candidates } = store;

  function queue(job: Backfill, hook: ActiveHook, height: number, matched: MatchedBlock): void {
    queueRequested(engine, hook, { queue: 'backfill', request: `${job.uuid}/${height}`, matched, backfillId: job.id });
    const { block, txIndexes } = matched;
    ledger.add(block.indexBlockHash, hook.id, height, block.burnBlockHeight, txIndexes);
  }

  /** Queues a delivery for the next matching block of a backfill's range. @returns whether it is done or has to wait */
  function advanceBackfill(id: number, limit: number, time: number): boolean {
    const job = backfills.get(id);
    const record = job === undefined ? undefined : records.get(job.hookId);
    if (job === undefined || record === undefined || job.finishedAt !== null) return true;
    if (!job.dryRun && deliveries.openOfBackfill(job.id) >= limit) return true;
    const hook = activeHook(record);
    const match = scanner({ history, candidates }, hook.conditions).next(job.nextHeight, job.toHeight);
    if (match === null) {
      backfills.advance(job.id, job.toHeight + 1);
      backfills.finish(job.id, 'completed', time);
      return true;
    }
    const { height, matched } = match;
    if (matched === null) {
      backfills.advance(job.id, height + 1);
      return false;
    }
    if (!job.dryRun) queue(job, hook, height, matched);
    const { length: transactions } = matched.txIndexes;
    backfills.advance(job.id, height + 1, { blocks: 1, transactions, queued: job.dryRun ? 0 : 1 });
    return false;
  }

  const advanceHook = (hook: number, limit: number): boolean =>
    deliveries.openUpTo(hook, 'live', limit) === limit || engine.catchUp(hook);

  /** A batch returns whether the task is done or has to wait for its deliveries. */
  const advance: BatchedCommand<Task> = {
    batch: (task, time) => () =>
      task.of === 'catch_up' ? advanceHook(task.hook, task.most) : advanceBackfill(task.backfill, task.most, time),
  };

  return {
    'backfill.start'({ hook, job, from, to, dryRun, most: limit }: NewBackfill, time: number): void {
      // An earlier entry may have deleted the hook.
      if (records.get(hook) === undefined) throw unknownHook();
      if (backfills.openOf(hook) >= limit) {
        throw new HookProblem(429, `${limit} backfills of the chainhook are already waiting; try again later`);
      }
      backfills.add({ uuid: job, hookId: hook, dryRun, from, to }, time);
      engine.wake();
    },

    /** Also cancels the deliveries that the backfill has queued. @throws HookProblem 404 */
    'backfill.cancel'(name: BackfillName, time: number): void {
      const { id } = requireBackfill(store, name);
      backfills.cancel(id, time);
      deliveries.cancelBackfill(id);
      // Waiting backfills may have room now.
      engine.wake();
    },

    'hook.advance': advance,

    /** A batch can't be applied, for example because a block is missing. */
    'hook.fail'({ task, reason }: { task: Task; reason: string }, time: number): void {
      if (task.of === 'backfill') {
        backfills.finish(task.backfill, 'failed', time, reason);
        return;
      }
      const record = records.get(task.hook);
      if (record !== undefined) engine.interrupt(record, reason, null);
    },
  };
}
