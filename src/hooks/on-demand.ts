/** An evaluation on demand: what a hook matches in one block is sent to its receiver, beside its live deliveries. */
import type { HookRecord } from '../store/hooks/model.ts';
import { activeHook } from './active-hook.ts';
import { type BlockChoice, chosenBlock } from './block-choice.ts';
import { payloadText } from './payload.ts';
import { HookProblem } from './problem.ts';
import { scanner } from './scan.ts';
import type { Chainhooks } from './service.ts';

/** Maximum on-demand evaluations of a hook that may wait for its receiver. */
const MOST_WAITING = 10_000;

/**
 * Queues what the hook matches in a block; counters, status and budgets stay as they are.
 * @param own reads the hook
 * @throws HookProblem 404 for the hook, 404 or 400 for the block, 429 where too many wait
 */
export async function evaluateOnDemand(hooks: Chainhooks, own: () => HookRecord, choice: BlockChoice): Promise<void> {
  const { store, history, write, evaluator, network, chance } = hooks;
  const { deliveries, candidates } = store;
  const hook = activeHook(own());
  const matched = scanner({ history, candidates }, hook.conditions).at(chosenBlock(history, choice));
  const of = network();
  if (matched === null || of === null) return;
  const body = payloadText(hook, of, { apply: [matched], rollback: [] });
  await write(() => {
    // The hook may have been deleted while others wrote.
    own();
    if (deliveries.openUpTo(hook.id, 'evaluate', MOST_WAITING) === MOST_WAITING) {
      throw new HookProblem(429, `${MOST_WAITING} evaluations wait for the receiver: try again, or use a backfill`);
    }
    const source = `${hook.uuid}/${chance.uuid()}`;
    evaluator.queueRequested(hook.id, { lane: 'evaluate', source, matched, body, backfillId: null });
  }, 'synced');
}
