/** The newest blocks, and the blocks that were reverted while the page was open. */
import type { Block } from './types.ts';

/** Maximum number of reverted blocks to show. */
const MAX_REMOVED_SHOWN = 5;

export interface SeenBlock extends Block {
  /** Whether another block replaced it. */
  gone: boolean;
  /** Whether it arrived while the page was open. */
  fresh: boolean;
}

/** Returns the newest blocks and the previously seen blocks that are no longer on the chain, highest first. */
export function mergeBlocks(before: readonly SeenBlock[], newest: readonly Block[]): SeenBlock[] {
  const hashes = new Set(newest.map(({ index_block_hash: hash }) => hash));
  const known = new Map(before.map((block) => [block.index_block_hash, block]));
  const lowest = newest.at(-1)?.height ?? 0;
  const gone = before
    .filter(({ index_block_hash: hash, height }) => !hashes.has(hash) && height >= lowest)
    .map((block) => ({ ...block, gone: true, fresh: false }))
    .slice(0, MAX_REMOVED_SHOWN);
  const current = newest.map((block) => ({
    ...block,
    gone: false,
    fresh: before.length > 0 && (known.get(block.index_block_hash)?.fresh ?? true),
  }));
  return [...current, ...gone].sort((a, b) => b.height - a.height || Number(a.gone) - Number(b.gone));
}
