/** Snapshots whose reads take time: the writer goes on between two reads of one request. */
import { type OpenSnapshots, openSnapshots } from '../../src/store/read/snapshots.ts';
import type { World } from './world.ts';

/** Of the reads, so many take long, per cent; and how long, in milliseconds. */
const LONG = 25;
const LONGEST = 120;

type Group = Record<string, unknown>;

/** @param isSlow whether they take time now @returns what opens such snapshots */
export function slowReads(world: World, isSlow: () => boolean): OpenSnapshots {
  const prng = world.prng('reads');

  /** A group of reads, such as those of blocks, or the reader of all groups. */
  const slow = <T extends object>(group: T): T =>
    new Proxy(group, {
      get(target, name) {
        const member = (target as Group)[name as string];
        if (typeof member === 'object' && member !== null) return slow(member);
        if (typeof member !== 'function') return member;
        return async (...asked: unknown[]) => {
          if (isSlow() && prng.below(100) < LONG) await world.pause(prng.below(LONGEST));
          return member.apply(target, asked);
        };
      },
    });

  return (directory, options) => {
    const snapshots = openSnapshots(directory, options);
    return { ...snapshots, read: (request) => snapshots.read((reader) => request(slow(reader))) };
  };
}
