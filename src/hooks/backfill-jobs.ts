/** Backfills as a consumer starts, watches and cancels them. */
import type { Cursor } from '../store/model/page.ts';
import { HookProblem, invalidField, unknownHook } from './problem.ts';
import { serializedBackfill } from './serialize.ts';
import type { Chainhooks } from './service.ts';

/** Backfills of a hook that are not done yet. */
const MOST_BACKFILLS = 100;

/** The blocks of a backfill. */
export interface BackfillRange {
  from: number;
  /** The tip where it isn't given. */
  to: number | undefined;
  /** Counts what matches, and sends nothing. */
  dryRun: boolean;
}

/** Every function takes the id of a hook that the caller owns. */
export function backfillJobs({ store, history, write, clock, chance, wakeTasks }: Chainhooks) {
  const { backfills, deliveries, records } = store;

  /** @throws HookProblem 404 */
  function found(hookId: number, job: string) {
    const backfill = backfills.find(job.toLowerCase(), hookId);
    if (backfill === undefined) throw new HookProblem(404, 'Backfill not found');
    return backfill;
  }

  return {
    /** @throws HookProblem 400 for the range, 404 where the hook is gone, 429 where too many wait */
    async start(hookId: number, { from, to: upTo, dryRun }: BackfillRange) {
      const tip = history.tip().height;
      const to = upTo ?? tip;
      if (from > to) throw invalidField('from_height', 'must not be above to_height');
      if (to > tip) throw invalidField('to_height', `must not be above the tip, which is at ${tip}`);
      const uuid = chance.uuid();
      await write(() => {
        // The hook may have been deleted while others wrote.
        if (records.get(hookId) === undefined) throw unknownHook();
        if (backfills.openOf(hookId) >= MOST_BACKFILLS) {
          throw new HookProblem(429, `No more than ${MOST_BACKFILLS} backfills of a chainhook may wait: try again`);
        }
        backfills.add({ uuid, hookId, dryRun, from, to }, clock.now());
      }, 'synced');
      wakeTasks();
      return serializedBackfill(found(hookId, uuid));
    },

    /** @throws HookProblem 404 */
    get: (hookId: number, job: string) => serializedBackfill(found(hookId, job)),

    page(hookId: number, limit: number, at: Cursor | null) {
      const page = backfills.page(hookId, limit, at);
      return { ...page, items: page.items.map(serializedBackfill) };
    },

    /** Deliveries that the backfill queued and that are not under way are cancelled too. @throws HookProblem 404 */
    async cancel(hookId: number, job: string): Promise<void> {
      await write(() => {
        const { id } = found(hookId, job);
        backfills.finish(id, 'cancelled', clock.now());
        deliveries.cancelBackfill(id);
      }, 'synced');
      wakeTasks();
    },
  };
}
