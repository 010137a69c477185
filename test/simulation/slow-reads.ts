/** Snapshots that are in use for a while, so that the writer continues before a request reads and between its long reads. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Reader } from '../../src/store/read/index-reader.ts';
import { type OpenSnapshots, openSnapshots } from '../../src/store/read/snapshots.ts';
import type { World } from './world.ts';

/** How many of the requests, and of the reads that take several turns, take long, per cent; and how long, in milliseconds. */
const LONG = 40;
const LONGEST = 120;
/** Milliseconds between two looks of a request that hangs at whether its process is still there. */
const LOOK = 500;

/** How long the request that is under way hangs before its first read: milliseconds that are left. */
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

/** @returns a function that opens such snapshots */
export function slowReads(world: World, { isSlow, isOver, inUse }: SlowReads): OpenSnapshots {
  const prng = world.prng('reads');

  async function delay(): Promise<void> {
    if (isSlow() && prng.below(100) < LONG) await world.pause(prng.below(LONGEST));
  }

  async function hang(): Promise<void> {
    const request = hanging.getStore();
    while (request !== undefined && request.left > 0 && !isOver()) {
      request.left -= LOOK;
      await world.pause(LOOK);
    }
  }

  /**
   * A group of reads, such as those of blocks, or the reader of all groups. A read that takes one turn can't be delayed,
   * since nothing can happen between it and the next one. One that takes several turns ends later.
   */
  const slow = <T extends object>(group: T): T =>
    new Proxy(group, {
      get(target, name) {
        const member = (target as Group)[name as string];
        if (typeof member === 'object' && member !== null) return slow(member);
        if (typeof member !== 'function') return member;
        return (...asked: unknown[]) => {
          const answer = member.apply(target, asked);
          return answer instanceof Promise ? answer.finally(delay) : answer;
        };
      },
    });

  return (directory, options) => {
    const snapshots = openSnapshots(directory, options);
    async function read<T>(request: (reader: Reader) => T | Promise<T>): Promise<T> {
      inUse(1);
      try {
        return await snapshots.read(async (reader) => {
          // Meanwhile the server commits, replaces its files, or ends.
          await delay();
          await hang();
          return request(slow(reader));
        });
      } finally {
        inUse(-1);
      }
    }
    return { ...snapshots, read, readAtOnce: read };
  };
}
