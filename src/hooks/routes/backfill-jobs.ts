/** Backfills as a consumer starts, watches and cancels them. */
import type { Cursor } from '../../store/model/page.ts';
import { foundBackfill } from '../commands/backfills.ts';
import { invalidField } from '../problem.ts';
import type { Chainhooks } from '../service.ts';
import { serializedBackfill } from './serialize.ts';

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
export function backfillJobs({ store, history, commands, chance }: Chainhooks) {
  const { backfills } = store;
  const found = (hook: number, job: string) => foundBackfill(store, { hook, job });

  return {
    /** @throws HookProblem 400 for the range, 404 where the hook is gone, 429 where too many wait */
    async start(hookId: number, { from, to: upTo, dryRun }: BackfillRange) {
      const tip = history.tip().height;
      const to = upTo ?? tip;
      if (from > to) throw invalidField('from_height', 'must not be above to_height');
      if (to > tip) throw invalidField('to_height', `must not be above the tip, which is at ${tip}`);
      const job = chance.uuid();
      await commands.run('backfill.start', { hook: hookId, job, from, to, dryRun, most: MOST_BACKFILLS });
      return serializedBackfill(found(hookId, job));
    },

    /** @throws HookProblem 404 */
    get: (hookId: number, job: string) => serializedBackfill(found(hookId, job)),

    page(hookId: number, limit: number, at: Cursor | null) {
      const page = backfills.page(hookId, limit, at);
      return { ...page, items: page.items.map(serializedBackfill) };
    },

    /** Deliveries that the backfill queued and that are not under way are cancelled too. @throws HookProblem 404 */
    async cancel(hookId: number, job: string): Promise<void> {
      await commands.run('backfill.cancel', { hook: hookId, job });
    },
  };
}
