/** A step of a backfill: the next block of its range that matches becomes a delivery in the hook's backfill lane. */
import type { Network } from '../chain/network.ts';
import type { Backfill, HookRecord } from '../store/hooks/model.ts';
import type { HookStore } from '../store/hooks/store.ts';
import type { ChainHistory } from '../store/ingest/ingest.ts';
import { type ActiveHook, activeHook } from './active-hook.ts';
import type { Evaluator } from './evaluation/evaluator.ts';
import { type MatchedBlock, payloadText } from './payload.ts';
import { scanner } from './scan.ts';

/** What steps of backfills work with. */
export interface BackfillStepOptions {
  store: HookStore;
  history: ChainHistory;
  /** Null until a block came. */
  network: () => Network | null;
  evaluator: Evaluator;
}

/** Makes the function that takes a step of a backfill. */
export function backfillSteps({ store, history, network, evaluator }: BackfillStepOptions) {
  const { deliveries, backfills, ledger, candidates } = store;

  function queue(job: Backfill, hook: ActiveHook, height: number, matched: MatchedBlock): void {
    const of = network();
    if (of === null) throw new Error('Blocks came before the network was known.');
    const body = payloadText(hook, of, { apply: [matched], rollback: [] });
    const source = `${hook.uuid}/${job.uuid}/${height}`;
    evaluator.queueRequested(hook.id, { lane: 'backfill', source, matched, body, backfillId: job.id });
    const { block, txIndexes } = matched;
    ledger.add(block.indexBlockHash, hook.id, height, block.burnBlockHeight, txIndexes);
  }

  /**
   * Takes a step; call it in a transaction.
   * @param most deliveries of the backfill that may wait: the rest is made when some are gone
   * @param at Unix milliseconds
   * @returns whether the backfill is done, or has to wait for its deliveries
   */
  return (job: Backfill, record: HookRecord, most: number, at: number): boolean => {
    if (!job.dryRun && deliveries.openOfBackfill(job.id) >= most) return true;
    const hook = activeHook(record);
    const found = scanner({ history, candidates }, hook.conditions).next(job.nextHeight, job.toHeight);
    if (found === null) {
      backfills.advance(job.id, job.toHeight + 1, 0, 0, 0);
      backfills.finish(job.id, 'completed', at);
      return true;
    }
    const { height, matched } = found;
    if (matched === null) {
      backfills.advance(job.id, height + 1, 0, 0, 0);
      return false;
    }
    if (!job.dryRun) queue(job, hook, height, matched);
    backfills.advance(job.id, height + 1, 1, matched.txIndexes.length, job.dryRun ? 0 : 1);
    return false;
  };
}
