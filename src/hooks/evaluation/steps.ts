/** Steps along the chain: from where a hook stands, the blocks that leave the chain and those that join it. */
import type { Block } from '../../chain/block.ts';
import type { Cursor } from '../../store/hooks/model.ts';
import type { ChainChange } from '../../store/ingest/chain-writer.ts';
import type { ChainHistory } from '../../store/ingest/ingest.ts';
import { UnknownParentError } from '../../store/ingest/known-blocks.ts';
import type { HookLog } from '../log-event.ts';

/** A block that leaves the chain. Its payload is read only where a hook was notified of it. */
export interface Leaving {
  height: number;
  hash: Uint8Array;
  block: () => Block;
}

export interface Step {
  /** Tip first. */
  leaving: readonly Leaving[];
  /** The highest block that was canonical before and is now. */
  forkHeight: number;
  /** Ascending. */
  joining: readonly Block[];
}

/** The step that ingest has just taken. @param first the lowest block that joins */
export const stepOfChange = ({ reverted, applied }: ChainChange, first: Block): Step => ({
  leaving: reverted.map((block) => ({ height: block.height, hash: block.indexBlockHash, block: () => block })),
  forkHeight: first.height - 1,
  joining: applied,
});

/**
 * Reads the chain's changes as steps: blocks that left it, and the block that came. A block is read once, when it is needed.
 */
export function chainSteps(history: ChainHistory, log: HookLog) {
  /** Blocks of a branch that left the chain, tip first, each read once. */
  function leavingOf(hashes: readonly Uint8Array[], forkHeight: number): Leaving[] {
    return hashes
      .map((hash, index): Leaving => {
        let read: Block | undefined;
        const block = () => {
          read ??= history.block(hash);
          return read;
        };
        return { height: forkHeight + 1 + index, hash, block };
      })
      .reverse();
  }

  /** The branch from the chain to a cursor; without blocks where the cursor is canonical, or its block is lost. */
  function branchOf({ height, hash }: Cursor, tipHeight: number): { forkHeight: number; hashes: Uint8Array[] } {
    if (height === 0) return { forkHeight: 0, hashes: [] };
    try {
      return history.branchOf(hash);
    } catch (error) {
      if (!(error instanceof UnknownParentError)) throw error;
      log({ event: 'hook_cursor_lost', height });
      return { forkHeight: Math.min(height, tipHeight), hashes: [] };
    }
  }

  function canonicalBlock(height: number): Block {
    const hash = history.hashAt(height);
    if (hash === undefined) throw new Error(`The chain has no block ${height}.`);
    return history.block(hash);
  }

  return {
    /** The next step of hooks that stand at a cursor; null at the tip. */
    next(cursor: Cursor): Step | null {
      const tip = history.tip();
      const { forkHeight, hashes } = branchOf(cursor, tip.height);
      if (hashes.length === 0 && forkHeight >= tip.height) return null;
      // A fork wins with the block that is higher than all it replaces: live hooks were notified with that block.
      const last = hashes.length === 0 ? forkHeight + 1 : Math.min(tip.height, cursor.height + 1);
      const joining: Block[] = [];
      for (let height = forkHeight + 1; height <= last; height++) joining.push(canonicalBlock(height));
      return { leaving: leavingOf(hashes, forkHeight), forkHeight, joining };
    },

    /** The step that takes back the branch of an orphaned block. */
    awayFrom(hash: Uint8Array): Step {
      const { forkHeight, hashes } = history.branchOf(hash);
      return { leaving: leavingOf(hashes, forkHeight), forkHeight, joining: [] };
    },

    tipCursor(): Cursor {
      const { height, indexBlockHash } = history.tip();
      return height === 0 ? { height: 0, hash: new Uint8Array(0) } : { height, hash: indexBlockHash };
    },
  };
}
