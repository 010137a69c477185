/** The commands that forget what is old, each a part of it. */
import type { Made } from '../../store/hooks/delivery-forgetting.ts';
import type { CommandParts } from './parts.ts';

/** How many rows a command takes at most. */
interface Limit {
  limit: number;
}

export function upkeepCommands({ store }: CommandParts) {
  const { records, deliveries, ledger, backfills } = store;
  return {
    /** Bodies of what was made before a time and is done with. @returns how many, and the last */
    'upkeep.aged_bodies': ({ after, before, limit }: Limit & { after: Made; before: number }) =>
      deliveries.forgetBodies(after, before, limit),

    /** Bodies of a hook's delivered ones beyond its newest. @returns how many, and the last */
    'upkeep.surplus_bodies': ({ hook, most, after, limit }: Limit & { hook: number; most: number; after: number }) =>
      deliveries.keepBodies(hook, most, after, limit),

    /** Rows of what was made before a time and is done with. @returns how many */
    'upkeep.rows': ({ before, limit }: Limit & { before: number }): number => deliveries.forgetRows(before, limit),

    /** What hooks were told of blocks that stand too deep in the chain to leave it. @returns how many */
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
