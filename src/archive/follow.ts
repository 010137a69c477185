/** Finds the entry at which a server that follows an archive starts to read. */
import type { ServiceEvent } from '../base/log-events.ts';
import type { ObjectStoreReads } from '../storage/object-store.ts';
import { contentsOf, linkedFrom, sealedSegment } from './archive.ts';
import { heightOf } from './restore.ts';

/** The server receives events from the archive, or can't. `height` is the height of the tip. */
export type FollowEvent = { event: 'archive_followed'; place: string; blocks: number; height: number } | ServiceEvent;

type Linked = ReturnType<typeof linkedFrom>['linked'];

/**
 * Returns the first block's height in a range of segments, and the index of its segment; null if the segments have no block.
 */
async function firstBlock(store: ObjectStoreReads, linked: Linked, from: number, to: number) {
  for (let at = from; at < to; at++) {
    const { range, after } = linked[at]!;
    const { entries } = await sealedSegment(store, range, after);
    for (const entry of entries) {
      const height = heightOf(entry);
      if (height !== null) return { at, height };
    }
  }
  return null;
}

/**
 * Finds the newest sealed segment that begins at or below a block. Reads only a few segments, even of a large archive.
 * @param height of the block
 * @returns number of the segment's first entry; 1 if there is no such segment
 * @throws ArchiveDamagedError; OperatorError if the store can't be read
 */
export async function entryBelow(store: ObjectStoreReads, height: number): Promise<number> {
  const { linked } = linkedFrom((await contentsOf(store)).segments, 1);
  let [low, high] = [0, linked.length];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const block = await firstBlock(store, linked, middle, high);
    if (block === null || block.height > height) high = middle;
    else low = block.at;
  }
  return linked[low]?.range.first ?? 1;
}

/** Returns the first entry of the last segment that begins before an entry; the given entry if there is no such segment. */
export async function entryBefore(store: ObjectStoreReads, entry: number): Promise<number> {
  const { linked } = linkedFrom((await contentsOf(store)).segments, 1);
  return linked.findLast(({ range }) => range.first < entry)?.range.first ?? entry;
}
