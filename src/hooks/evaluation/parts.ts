/** What the evaluation of live hooks and that of hooks which are behind have in common. */
import type { Block } from '../../chain/block.ts';
import type { HookStore } from '../../store/hooks/store.ts';
import type { ActiveHook } from '../active-hook.ts';
import type { Endings } from './endings.ts';
import type { Notifications } from './notifications.ts';
import type { Outcome } from './outcome.ts';
import type { DeliveryQueue } from './queue.ts';
import type { Roster } from './roster.ts';
import type { Steps } from './steps.ts';

export interface EvaluationParts {
  store: HookStore;
  roster: Roster;
  steps: Steps;
  endings: Endings;
  outcome: Outcome;
  queue: DeliveryQueue;
  /** Unix milliseconds. */
  now: () => number;
}

/** Notes that a hook matches a block. @param txIndexes indexes of the transactions that match */
export function noteMatch(
  { outcome, now }: EvaluationParts,
  notifications: Notifications,
  hook: ActiveHook,
  block: Block,
  txIndexes: readonly number[],
): void {
  notifications.apply(hook, block, txIndexes, now());
  outcome.count('matches');
}
