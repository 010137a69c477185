/** Snapshots whose long reads take time, so that the writer can continue. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type Pause, Turns } from '../../src/base/turns.ts';
import { type OpenSnapshots, openSnapshots } from '../../src/store/read/snapshots.ts';
import type { World } from './world.ts';

/** How often a long read is delayed at its begin, at its end and between two of its batches, per cent; and for how long at most, in milliseconds. */
const LONG = 40;
const MAX_DELAY = 120;
/** Milliseconds between two looks of a request that hangs at whether its process is still there. */
const LOOK = 500;

/** How long the request that is under way hangs before its first read: milliseconds that are left. */
const hanging = new AsyncLocalStorage<{ left: number }>();

/** Makes a request that holds its snapshot for a number of milliseconds. */
export const holdingSnapshot = <T>(milliseconds: number, request: () => Promise<T>): Promise<T> =>
  hanging.run({ left: milliseconds }, request);

interface SlowReads {
  /** Whether reads take time now. */
  isSlow: () => boolean;
  /** Whether the process that reads has ended. */
  isOver: () => boolean;
  /** Called when a snapshot begins to be used, and when that is over. */
  inUse: (change: 1 | -1) => void;
}

/**
 * Nothing else of the server can happen during a read of one turn, so only long reads are delayed: after the snapshot has
 * begun, where they yield, and before it ends.
 * @returns a function that opens such snapshots
 */
export function slowReads(world: World, { isSlow, isOver, inUse }: SlowReads): OpenSnapshots {
  const prng = world.prng('reads');

  const delay: Pause = () => (isSlow() && prng.below(100) < LONG ? world.pause(prng.below(MAX_DELAY)) : undefined);

  class SlowTurns extends Turns {
    override longWork(): Pause {
      return delay;
    }
  }

  async function hang(): Promise<void> {
    const request = hanging.getStore();
    while (request !== undefined && request.left > 0 && !isOver()) {
      request.left -= LOOK;
      await world.pause(LOOK);
    }
  }

  return (directory, options) => {
    const snapshots = openSnapshots(directory, { ...options, turns: new SlowTurns(world.clock) });
    return {
      ...snapshots,
      async readLong(request) {
        inUse(1);
        try {
          return await snapshots.readLong(async (reader) => {
            await delay();
            await hang();
            const answer = await request(reader);
            await delay();
            return answer;
          });
        } finally {
          inUse(-1);
        }
      },
    };
  };
}
