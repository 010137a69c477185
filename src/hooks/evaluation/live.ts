/** The live hooks: they stand together at the tip and move on together, inside the transaction of each block. */
import type { Block } from '../../chain/block.ts';
import type { ChainChange } from '../../store/ingest/chain-writer.ts';
import type { Reason } from '../../store/rows/hook-words.ts';
import { type ActiveHook, activeHook, isUsedUp } from '../active-hook.ts';
import type { HookTimers } from '../counters.ts';
import { Notifications } from './notifications.ts';
import { type EvaluationParts, noteMatch } from './parts.ts';
import { type Step, standsBefore, stepOfChange } from './steps.ts';

export interface LiveEvaluationOptions extends EvaluationParts {
  timers: Pick<HookTimers, 'evaluated'>;
}

/** Makes the evaluation of the hooks at the tip, which see each change of the chain together. */
export function liveEvaluation(options: LiveEvaluationOptions) {
  const { store, roster, steps, endings, outcome, queue, timers, now } = options;
  const { records, ledger } = store;

  /** Who learns that a block left the chain: live hooks, and those that expired after they were notified of it. */
  function audience(hookId: number): ActiveHook | undefined {
    const known = roster.get(hookId);
    if (known !== undefined) return known;
    const record = records.get(hookId);
    return record?.status === 'expired' && record.stage === 'idle' ? activeHook(record) : undefined;
  }

  function takeBack(step: Step, notifications: Notifications): void {
    for (const leaving of step.leaving) {
      for (const { hookId, txIndexes } of ledger.ofBlock(leaving.hash)) {
        const hook = audience(hookId);
        if (hook !== undefined) notifications.rollback(hook, leaving, txIndexes, step);
      }
    }
  }

  function evaluate(block: Block, notifications: Notifications): void {
    // By id: the order in which hooks came into memory is this process's own, and deliveries are numbered in this order.
    const matches = [...roster.match(block)].sort(([one], [other]) => one - other);
    roster.advance(block, now());
    outcome.count('evaluatedBlocks');
    const usedUp = new Set(records.usedUp(roster.progress().evaluated));
    for (const [id, txIndexes] of matches) {
      const hook = roster.get(id);
      if (hook === undefined) continue;
      noteMatch(options, notifications, hook, block, txIndexes);
      if (hook.options.expire_after_occurrences) usedUp.add(id);
    }
    for (const id of usedUp) {
      const [hook, record] = [roster.get(id), records.get(id)];
      if (hook !== undefined && record !== undefined && isUsedUp(record, hook.options)) endings.expire(record, hook);
    }
  }

  function take(step: Step, reason: Reason): void {
    const started = performance.now();
    const before = roster.progress().cursor;
    const notifications = new Notifications(store);
    takeBack(step, notifications);
    for (const block of step.joining) evaluate(block, notifications);
    queue.live(notifications, reason, before);
    timers.evaluated(performance.now() - started);
  }

  return {
    /** The chain changed. Hooks that don't stand where the change began catch up after the commit. */
    follow(change: ChainChange): void {
      const [first] = change.applied;
      if (first === undefined) return;
      roster.begin();
      if (standsBefore(roster.progress().cursor, change, first)) take(stepOfChange(change, first), 'live');
      else outcome.behind();
    },

    /**
     * Moves the live hooks one step; call it in a transaction.
     * @returns whether they stand at the tip
     */
    advance(): boolean {
      roster.begin();
      const { cursor } = roster.progress();
      if (steps.isTip(cursor)) return true;
      const step = steps.next(cursor);
      if (step === null || (roster.isEmpty() && step.leaving.length === 0)) {
        roster.moveTo(steps.tipCursor());
        return true;
      }
      take(step, 'catch_up');
      return false;
    },
  };
}
