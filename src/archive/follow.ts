/** Finds the entry at which a server that follows an archive begins to read it. */
import type { PlaceReads } from '../places/files.ts';
import { contentsOf, linkedFrom, sealedSegment } from './archive.ts';
import { heightOf } from './restore.ts';

export type FollowEvent =
  /** The server takes events from the archive. `height` is that of the tip. */
  | { event: 'archive_followed'; place: string; blocks: number; height: number }
  /** The events of the archive can't be taken now; they are tried again. */
  | { event: 'archive_not_followed'; place: string; reason: string };

type Linked = ReturnType<typeof linkedFrom>['linked'];

/** The first block of some segments, and the place of its segment; null if they have none. */
async function firstBlock(place: PlaceReads, linked: Linked, from: number, to: number) {
  for (let at = from; at < to; at++) {
    const { range, after } = linked[at]!;
    const { entries } = await sealedSegment(place, range, after);
    for (const entry of entries) {
      const height = heightOf(entry);
      if (height !== null) return { at, height };
    }
  }
  return null;
}

/**
 * Finds the newest sealed segment that begins at or below a block. It reads a few segments, however many the archive has.
 * @param height of the block
 * @returns number of the segment's first entry; 1 if there is no such segment
 * @throws ArchiveDamagedError; OperatorError if the place can't be read
 */
export async function entryBelow(place: PlaceReads, height: number): Promise<number> {
  const { linked } = linkedFrom((await contentsOf(place)).segments, 1);
  let [low, high] = [0, linked.length];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const found = await firstBlock(place, linked, middle, high);
    if (found === null || found.height > height) high = middle;
    else low = found.at;
  }
  return linked[low]?.range.first ?? 1;
}

/** The first entry of the segment before the one that begins with an entry; the same entry if there is none. */
export async function entryBefore(place: PlaceReads, entry: number): Promise<number> {
  const { linked } = linkedFrom((await contentsOf(place)).segments, 1);
  return linked.findLast(({ range }) => range.first < entry)?.range.first ?? entry;
}
