/** Steps along the chain: the blocks that leave the chain and those that join it after a cursor. */
import { lazy } from '../../base/cache.ts';
import type { Block } from '../../chain/block.ts';
import type { Cursor } from '../../store/hooks/model.ts';
import type { ChainChange } from '../../store/ingest/chain-writer.ts';
import type { ChainHistory } from '../../store/ingest/ingest.ts';
import { UnknownParentError } from '../../store/ingest/known-blocks.ts';
import type { Branch } from '../../store/queries/blocks/chain.ts';
import type { HookLog } from '../reporting.ts';

/** A block that leaves the chain. Its payload is read only if a hook was notified of it. */
export interface OrphanedBlock {
  height: number;
  hash: Uint8Array;
  block: () => Block;
}

export interface Step {
  /** Tip first. */
  leaving: readonly OrphanedBlock[];
  /** Height of the newest block on both branches. */
  forkHeight: number;
  /** Ascending. */
  joining: readonly Block[];
}

/** The step of a change that was just applied; null if no block left the chain or joined it. */
export function stepOfChange({ reverted, applied }: ChainChange): Step | null {
  const lowest = applied[0] ?? reverted.at(-1);
  if (lowest === undefined) return null;
  return {
    leaving: reverted.map((block) => ({ height: block.height, hash: block.indexBlockHash, block: () => block })),
    forkHeight: lowest.height - 1,
    joining: applied,
  };
}

/** Makes steps from the chain's history. Payloads are read on demand, once. */
export function chainSteps(history: ChainHistory, log: HookLog) {
  /** Blocks of an orphaned branch, tip first, each read once on demand. */
  function leavingOf({ hashes, lowest }: Pick<Branch, 'hashes' | 'lowest'>): OrphanedBlock[] {
    return hashes
      .map((hash, index) => ({ height: lowest + index, hash, block: lazy(() => history.block(hash)) }))
      .reverse();
  }

  /** The orphaned branch up to a cursor; without blocks if the cursor is canonical or its block is lost. */
  function branchOf({ height, hash }: Cursor, tipHeight: number): Pick<Branch, 'forkHeight' | 'hashes' | 'lowest'> {
    const bottom = history.bottom();
    const noBlocks = (forkHeight: number) => ({ forkHeight, hashes: [], lowest: forkHeight + 1 });
    // A cursor below the first block has the hash of a parent that the index lacks, or no hash.
    if (height <= bottom && !history.isKnown(hash)) return noBlocks(bottom);
    try {
      return history.branchOf(hash);
    } catch (error) {
      if (!(error instanceof UnknownParentError)) throw error;
      log({ event: 'hook_cursor_lost', height });
      return noBlocks(Math.min(height, tipHeight));
    }
  }

  function canonicalBlock(height: number): Block {
    const hash = history.hashAt(height);
    if (hash === undefined) throw new Error(`The chain has no block ${height}.`);
    return history.block(hash);
  }

  return {
    /** The next step after a cursor; null at the tip. */
    next(cursor: Cursor): Step | null {
      const tip = history.tip();
      const branch = branchOf(cursor, tip.height);
      const { forkHeight, hashes } = branch;
      if (hashes.length === 0 && forkHeight >= tip.height) return null;
      // A fork wins when it is higher than the branch it replaces. The step ends with that block, as it did for live hooks.
      const last =
        hashes.length === 0 ? forkHeight + 1 : Math.max(forkHeight + 1, Math.min(tip.height, cursor.height + 1));
      const joining: Block[] = [];
      for (let height = forkHeight + 1; height <= last; height++) joining.push(canonicalBlock(height));
      return { leaving: leavingOf(branch), forkHeight, joining };
    },

    /** The step that rolls back the branch of an orphaned block. */
    awayFrom(hash: Uint8Array): Step {
      const branch = history.branchOf(hash);
      return { leaving: leavingOf(branch), forkHeight: branch.forkHeight, joining: [] };
    },

    tipCursor(): Cursor {
      const { height, indexBlockHash } = history.tip();
      return height === 0 ? { height: 0, hash: new Uint8Array(0) } : { height, hash: indexBlockHash };
    },
  };
}
