/** An evaluation on demand: what a hook matches in one block is sent to its receiver, beside its live deliveries. */
import { toHex } from '../../codec/hex.ts';
import type { HookRecord } from '../../store/hooks/model.ts';
import { activeHook } from '../definition/definition.ts';
import { type BlockChoice, chosenBlock, scanner } from '../matching/scan.ts';
import type { Chainhooks } from '../service.ts';

/** Maximum on-demand evaluations of a hook that may wait for its receiver. */
const MOST_WAITING = 10_000;

/**
 * Queues what the hook matches in a block; counters, status and budgets stay as they are.
 * @throws HookProblem 404 for the hook, 404 or 400 for the block, 429 where too many wait
 */
export async function evaluateOnDemand(hooks: Chainhooks, record: HookRecord, choice: BlockChoice): Promise<void> {
  const { store, history, commands, chance } = hooks;
  const { candidates } = store;
  const block = chosenBlock(history, choice);
  if (scanner({ history, candidates }, activeHook(record).conditions).at(block) === null) return;
  const { consumer, uuid } = record;
  const evaluation = { consumer, uuid, block: toHex(block), request: chance.uuid(), most: MOST_WAITING };
  await commands.run('delivery.evaluate', evaluation);
}
