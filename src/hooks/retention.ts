/** Retention of chainhooks: removes old bodies and rows of deliveries, and ledger rows of blocks too deep to be orphaned. */
import type { Clock } from '../base/clock.ts';
import { type Loop, startLoop } from '../base/service.ts';
import type { DeliveryKey } from '../store/hooks/outbox.ts';
import type { HookReads } from '../store/hooks/store.ts';
import type { CommandsOf } from '../store/ingest/commands.ts';
import type { HookEngine } from './engine.ts';
import { type HookLog, logTaskFailure } from './reporting.ts';

const INTERVAL_MS = 60_000;
/** Maximum rows of a batch, which take a few milliseconds. */
const MAX_ROWS = 2_000;
/** Maximum bodies of delivered deliveries that are stored for a hook. */
const MAX_BODIES = 10_000;
/** Retention of the delivery history, as a multiple of the retention of bodies. */
const LOG_RETENTION_FACTOR = 4;
/** Depth of a reorganization that hooks are still notified of, in Bitcoin blocks below the tip. */
const REORG_WINDOW = 150;

/** Maximum rows of a command. */
interface Limit {
  limit: number;
}

export function retentionCommands({ store }: Pick<HookEngine, 'store'>) {
  const { records, deliveries, ledger, backfills } = store;
  return {
    /** Removes bodies of finished deliveries made before a time. @returns how many, and the last */
    'upkeep.aged_bodies': ({ after, before, limit }: Limit & { after: DeliveryKey; before: number }) =>
      deliveries.deleteBodies(after, before, limit),

    /** Removes bodies of a hook's delivered deliveries except the newest. @returns how many, and the last */
    'upkeep.surplus_bodies': ({ hook, most, after, limit }: Limit & { hook: number; most: number; after: number }) =>
      deliveries.trimBodies(hook, most, after, limit),

    /** Removes rows of finished deliveries made before a time. @returns how many */
    'upkeep.rows': ({ before, limit }: Limit & { before: number }): number => deliveries.deleteFinished(before, limit),

    /** Removes ledger rows of blocks that are too deep in the chain to be orphaned. @returns how many */
    'upkeep.ledger': ({ below, limit }: Limit & { below: number }): number => ledger.deleteBelow(below, limit),

    /**
     * Removes rows of a hook that was deleted before a time, with its delivery history.
     * @returns the id of the hook, and whether all its rows are gone; null if no hook was deleted before the time
     */
    'upkeep.deleted_hook'({ before, limit }: Limit & { before: number }): { hook: number; whole: boolean } | null {
      const hook = records.deletedBefore(before);
      if (hook === null) return null;
      if (deliveries.deleteOfHook(hook, limit) === limit) return { hook, whole: false };
      backfills.deleteOfHook(hook);
      records.deleteRow(hook);
      return { hook, whole: true };
    },
  };
}

interface RetentionOptions {
  store: HookReads;
  commands: Pick<CommandsOf<ReturnType<typeof retentionCommands>>, 'run'>;
  retentionMs: number;
  log: HookLog;
  clock: Clock;
  /** Returns the Bitcoin height of the lowest block that forks can start from, on a devnet. */
  lowestFork?: (() => number) | undefined;
  /** Maximum bodies that are stored for a hook; for tests. */
  maxBodies?: number;
}

/** Removes a batch of one kind. @returns whether there is more */
type DeleteBatch = () => Promise<boolean>;

/** Makes the task that removes old rows of chainhooks once a minute, after `start`. */
export function retention(options: RetentionOptions) {
  const { store, commands, retentionMs, log, clock, lowestFork, maxBodies = MAX_BODIES } = options;
  const { records, candidates } = store;
  let loop: Loop | null = null;
  /** The last delivery whose body was removed for its age. */
  let agedUpTo = { createdAt: 0, id: 0 };
  /** By hook, the last delivery whose body was removed because the hook has too many. */
  const surplusUpTo = new Map<number, number>();

  /** Deliveries made before this time are no longer in the log. */
  const logStart = (): number => clock.now() - LOG_RETENTION_FACTOR * retentionMs;

  async function deleteAgedBodies(): Promise<boolean> {
    const batch = await commands.run('upkeep.aged_bodies', {
      after: agedUpTo,
      before: clock.now() - retentionMs,
      limit: MAX_ROWS,
    });
    agedUpTo = batch.last ?? agedUpTo;
    return batch.count === MAX_ROWS;
  }

  async function deleteExcess(hookId: number): Promise<boolean> {
    const after = surplusUpTo.get(hookId) ?? 0;
    const batch = await commands.run('upkeep.surplus_bodies', {
      hook: hookId,
      most: maxBodies,
      after,
      limit: MAX_ROWS,
    });
    surplusUpTo.set(hookId, batch.last ?? after);
    return batch.count === MAX_ROWS;
  }

  /** Removes deleted hooks with their delivery log: dead deliveries are not removed by age. */
  async function purgeDeletedHook(): Promise<boolean> {
    const batch = await commands.run('upkeep.deleted_hook', { before: logStart(), limit: MAX_ROWS });
    if (batch?.whole === true) surplusUpTo.delete(batch.hook);
    return batch !== null;
  }

  async function deleteExpired(): Promise<boolean> {
    return (await commands.run('upkeep.rows', { before: logStart(), limit: MAX_ROWS })) === MAX_ROWS;
  }

  async function deleteDeepRows(): Promise<boolean> {
    const below = Math.min(candidates.tipBurnHeight() - REORG_WINDOW, lowestFork?.() ?? Number.POSITIVE_INFINITY);
    return (await commands.run('upkeep.ledger', { below, limit: MAX_ROWS })) === MAX_ROWS;
  }

  const kinds = (): DeleteBatch[] => [
    deleteAgedBodies,
    deleteExpired,
    deleteDeepRows,
    purgeDeletedHook,
    ...records.withLongLog(maxBodies).map((id) => () => deleteExcess(id)),
  ];

  /** Removes in batches, with turns for others in between. */
  async function run(signal?: AbortSignal): Promise<void> {
    for (const deleteBatch of kinds()) {
      while (signal?.aborted !== true && (await deleteBatch())) await clock.turn();
      await clock.turn();
    }
  }

  return {
    run,
    /** Also starts again after `stop`. */
    start(): void {
      loop = startLoop({
        clock,
        everyMs: INTERVAL_MS,
        turn: run,
        // The other tasks continue after any error.
        passes: (error) => error instanceof Error,
        failed: (error) => logTaskFailure(log, error),
      });
    },
    /** Resolves when the present batch is done. */
    stop: async (): Promise<void> => loop?.stop(),
  };
}
