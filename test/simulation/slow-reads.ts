/** Snapshots whose reads take time, so that the writer continues between two reads of a request. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type OpenSnapshots, openSnapshots } from '../../src/store/read/snapshots.ts';
import type { World } from './world.ts';

/** Of the reads, so many take long, per cent; and how long, in milliseconds. */
const LONG = 25;
const LONGEST = 120;
/** Milliseconds between two looks of a request that hangs at whether its process is still there. */
const LOOK = 500;

/** How long the request that is under way hangs after its first read: milliseconds that are left. */
const hanging = new AsyncLocalStorage<{ left: number }>();

/** Makes a request that holds its snapshot for so many milliseconds. */
export const holdingSnapshot = <T>(milliseconds: number, request: () => Promise<T>): Promise<T> =>
  hanging.run({ left: milliseconds }, request);

type Group = Record<string, unknown>;

interface SlowReads {
  /** Whether reads take time now. */
  isSlow: () => boolean;
  /** Whether the process that reads has ended. */
  isOver: () => boolean;
  /** Called when a snapshot begins to be used, and when that is over. */
  inUse: (change: 1 | -1) => void;
}

/** @returns what opens such snapshots */
export function slowReads(world: World, { isSlow, isOver, inUse }: SlowReads): OpenSnapshots {
  const prng = world.prng('reads');

  async function hang(): Promise<void> {
    const request = hanging.getStore();
    while (request !== undefined && request.left > 0 && !isOver()) {
      request.left -= LOOK;
      await world.pause(LOOK);
    }
  }

  /** A group of reads, such as those of blocks, or the reader of all groups. */
  const slow = <T extends object>(group: T): T =>
    new Proxy(group, {
      get(target, name) {
        const member = (target as Group)[name as string];
        // What is read at once, in the turn of whoever asks.
        if (name === 'hooks' || name === 'height' || name === 'historyFrom') return member;
        if (typeof member === 'object' && member !== null) return slow(member);
        if (typeof member !== 'function') return member;
        return async (...asked: unknown[]) => {
          // At once, as the program reads: the first read of a request says of which moment its snapshot is.
          const answer = await member.apply(target, asked);
          if (isSlow() && prng.below(100) < LONG) await world.pause(prng.below(LONGEST));
          await hang();
          return answer;
        };
      },
    });

  return (directory, options) => {
    const snapshots = openSnapshots(directory, options);
    return {
      ...snapshots,
      async read(request) {
        inUse(1);
        try {
          return await snapshots.read((reader) => request(slow(reader)));
        } finally {
          inUse(-1);
        }
      },
    };
  };
}
