/** Forgets what is old: bodies and rows of what was delivered, and what stands too deep in the chain to leave it. */
import type { Clock } from '../base/clock.ts';
import type { Made } from '../store/hooks/outbox.ts';
import type { HookReads } from '../store/hooks/store.ts';
import type { CommandsOf } from '../store/ingest/commands.ts';
import type { HookEngine } from './engine.ts';
import { type HookLog, logTaskFailure } from './log-event.ts';

const EVERY_MS = 60_000;
/** Rows of a batch, so that it takes a few milliseconds. */
const BATCH = 2_000;
/** Bodies of delivered ones that a hook keeps. */
const MOST_BODIES = 10_000;
/** The log outlives the bodies so many times. */
const LOG_LASTS = 4;
/** Bitcoin blocks below the tip that hooks are still notified of when a reorganization replaces them. */
const REORG_WINDOW = 150;

/** How many rows a command takes at most. */
interface Limit {
  limit: number;
}

export function upkeepCommands({ store }: Pick<HookEngine, 'store'>) {
  const { records, deliveries, ledger, backfills } = store;
  return {
    /** Bodies of what was made before a time and is done with. @returns how many, and the last */
    'upkeep.aged_bodies': ({ after, before, limit }: Limit & { after: Made; before: number }) =>
      deliveries.forgetBodies(after, before, limit),

    /** Bodies of a hook's delivered ones beyond its newest. @returns how many, and the last */
    'upkeep.surplus_bodies': ({ hook, most, after, limit }: Limit & { hook: number; most: number; after: number }) =>
      deliveries.trimBodies(hook, most, after, limit),

    /** Rows of what was made before a time and is done with. @returns how many */
    'upkeep.rows': ({ before, limit }: Limit & { before: number }): number => deliveries.forgetRows(before, limit),

    /** Removes notifications of blocks that are too deep in the chain to leave it. @returns how many */
    'upkeep.ledger': ({ below, limit }: Limit & { below: number }): number => ledger.forgetBelow(below, limit),

    /**
     * A part of a hook that was deleted before a time, with what its log still has.
     * @returns the id of the hook, and whether all of it is gone; null where there is none
     */
    'upkeep.deleted_hook'({ before, limit }: Limit & { before: number }): { hook: number; whole: boolean } | null {
      const hook = records.deletedBefore(before);
      if (hook === null) return null;
      if (deliveries.forgetOf(hook, limit) === limit) return { hook, whole: false };
      backfills.forgetOf(hook);
      records.forget(hook);
      return { hook, whole: true };
    },
  };
}

/** Removes what is past its retention, in intervals. */
export interface Maintenance {
  /** Also once it has stopped. */
  start(): void;
  /** Resolves when the batch in hand is done. */
  stop(): Promise<void>;
  /** Once, now, in batches between which others have their turn. */
  run(): Promise<void>;
}

interface MaintenanceOptions {
  store: HookReads;
  commands: Pick<CommandsOf<ReturnType<typeof upkeepCommands>>, 'run'>;
  retentionMs: number;
  log: HookLog;
  clock: Clock;
  /** The number of bodies that a hook keeps; for tests. */
  mostBodies?: number;
}

/** Forgets a batch of one kind. @returns whether there is more of it */
type ForgetBatch = () => Promise<boolean>;

/** Begins nothing by itself: `start` does. */
export function maintenance(options: MaintenanceOptions): Maintenance {
  const { store, commands, retentionMs, log, clock, mostBodies = MOST_BODIES } = options;
  const { records, candidates } = store;
  let end = () => {};
  let stopped = false;
  let working: Promise<void> | null = null;
  /** The last delivery whose body was forgotten for its age, and for each hook the last one forgotten for their number. */
  let agedUpTo = { createdAt: 0, id: 0 };
  const surplusUpTo = new Map<number, number>();

  /** What was made before this time is not in the log any more. */
  const logBegin = (): number => clock.now() - LOG_LASTS * retentionMs;

  async function forgetAged(): Promise<boolean> {
    const forgotten = await commands.run('upkeep.aged_bodies', {
      after: agedUpTo,
      before: clock.now() - retentionMs,
      limit: BATCH,
    });
    agedUpTo = forgotten.last ?? agedUpTo;
    return forgotten.count === BATCH;
  }

  async function forgetSurplus(hookId: number): Promise<boolean> {
    const after = surplusUpTo.get(hookId) ?? 0;
    const forgotten = await commands.run('upkeep.surplus_bodies', {
      hook: hookId,
      most: mostBodies,
      after,
      limit: BATCH,
    });
    surplusUpTo.set(hookId, forgotten.last ?? after);
    return forgotten.count === BATCH;
  }

  /** A deleted hook goes with what its log still has: what is dead is not forgotten by its age. */
  async function forgetDeleted(): Promise<boolean> {
    const forgotten = await commands.run('upkeep.deleted_hook', { before: logBegin(), limit: BATCH });
    if (forgotten?.whole === true) surplusUpTo.delete(forgotten.hook);
    return forgotten !== null;
  }

  async function forgetRows(): Promise<boolean> {
    return (await commands.run('upkeep.rows', { before: logBegin(), limit: BATCH })) === BATCH;
  }

  async function forgetDeep(): Promise<boolean> {
    const below = candidates.tipBurnHeight() - REORG_WINDOW;
    return (await commands.run('upkeep.ledger', { below, limit: BATCH })) === BATCH;
  }

  const kinds = (): ForgetBatch[] => [
    forgetAged,
    forgetRows,
    forgetDeep,
    forgetDeleted,
    ...records.withLongLog(mostBodies).map((id) => () => forgetSurplus(id)),
  ];

  async function work(): Promise<void> {
    try {
      for (const forgetBatch of kinds()) {
        while (!stopped && (await forgetBatch())) await clock.turn();
        await clock.turn();
      }
    } catch (error) {
      logTaskFailure(log, error);
    } finally {
      working = null;
    }
  }

  function run(): Promise<void> {
    working ??= work();
    return working;
  }

  return {
    run,
    start() {
      stopped = false;
      end = clock.every(EVERY_MS, run);
    },
    async stop() {
      stopped = true;
      end();
      await working;
    },
  };
}
