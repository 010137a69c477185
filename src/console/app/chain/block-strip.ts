/** The newest blocks as a picture: in tenures, each with the orphaned blocks at its height. */
import type { Answer } from '../api/answer.ts';

export type NewestBlocks = Answer<'/stackside/v1/blocks/newest'>;
export type StripBlock = NewestBlocks['blocks'][number];
type Orphan = NewestBlocks['orphans'][number];

interface Place {
  block: StripBlock;
  /** Orphaned blocks at the same height; at the tip also higher ones. */
  orphans: Orphan[];
}

/** Blocks that one Bitcoin block elected, highest first. */
interface Tenure {
  bitcoinHeight: number;
  places: Place[];
}

/** Returns the newest blocks by tenure, newest first. */
export function tenuresOf({ blocks, orphans }: NewestBlocks): Tenure[] {
  const tip = blocks[0]?.height ?? 0;
  const tenures: Tenure[] = [];
  for (const block of blocks) {
    const place = { block, orphans: orphans.filter(({ height }) => Math.min(height, tip) === block.height) };
    const last = tenures.at(-1);
    if (last?.bitcoinHeight === block.burn_block_height) last.places.push(place);
    else tenures.push({ bitcoinHeight: block.burn_block_height, places: [place] });
  }
  return tenures;
}

/** Minimum fill of a block in per cent, so that its colour is visible. */
const MIN_FILL = 6;

/** Returns the fill of a block in per cent: its size compared to the largest block. */
export const fillOf = (size: number, largest: number): number =>
  largest === 0 ? MIN_FILL : Math.max(MIN_FILL, Math.round((100 * size) / largest));
