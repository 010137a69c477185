/** The live hooks, and steps along the chain: from the position of a hook, the blocks that leave the chain and those that join it. */
import { lazy } from '../../base/cache.ts';
import type { Block } from '../../chain/block.ts';
import type { Cursor, HookProgress } from '../../store/hooks/model.ts';
import type { HookStore } from '../../store/hooks/store.ts';
import type { ChainChange } from '../../store/ingest/chain-writer.ts';
import type { ChainHistory } from '../../store/ingest/ingest.ts';
import { UnknownParentError } from '../../store/ingest/known-blocks.ts';
import { type ActiveHook, activeHook } from '../definition/definition.ts';
import type { HookLog } from '../log-event.ts';
import { Matcher } from '../matching/matching.ts';

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

/** The step of the last change of the chain. @param first the lowest block that joins */
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
        return { height: forkHeight + 1 + index, hash, block: lazy(() => history.block(hash)) };
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
    /** The next step of hooks that are at a cursor; null at the tip. */
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

    /** The step that rolls back the branch of an orphaned block. */
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

/**
 * The live hooks and their positions, in memory as in the tables. Whatever a transaction changes in the tables it changes here
 * too; one that is undone has read again what it may have changed. That is mostly the positions: of hosts that share a log,
 * each but one rolls back its block when it comes to several of them.
 */
export function liveHooks(records: HookStore['records']) {
  const matcher = new Matcher();
  const hooks = new Map<number, ActiveHook>();
  let progress: HookProgress = records.progress();
  /** What is as in the tables. */
  const known = { hooks: false, progress: true };
  /** What may have changed since the last commit, here or in the tables. */
  const changed = { hooks: false, progress: false };

  function include(hook: ActiveHook): void {
    changed.hooks = true;
    hooks.set(hook.id, hook);
    matcher.set(hook.id, hook.conditions);
  }

  function loadHooks(): void {
    matcher.clear();
    hooks.clear();
    for (const record of records.live()) include(activeHook(record));
    known.hooks = true;
    // The tables may have been changed in the open transaction.
    changed.hooks = true;
  }

  function load(): void {
    if (known.hooks && known.progress) return;
    if (!known.hooks) loadHooks();
    progress = records.progress();
    known.progress = true;
  }

  function setProgress(next: HookProgress): void {
    progress = next;
    records.setProgress(next);
  }

  return {
    load,
    include,
    exclude(id: number): void {
      changed.hooks = true;
      hooks.delete(id);
      matcher.delete(id);
    },
    get: (id: number): ActiveHook | undefined => hooks.get(id),
    match: (block: Block) => matcher.match(block),
    progress: (): HookProgress => progress,

    /** Every change begins with this: the tables may have been undone since. */
    begin(): void {
      load();
      changed.progress = true;
    },
    /** The live hooks were evaluated on a block. @param at Unix milliseconds */
    advance({ height, indexBlockHash }: Block, at: number): void {
      setProgress({ evaluated: progress.evaluated + 1, cursor: { height, hash: indexBlockHash }, evaluatedAt: at });
    },

    committed(): void {
      changed.hooks = false;
      changed.progress = false;
    },
    /** Most of what is undone is an event that was known already, and no change of the hooks. */
    undone(): void {
      if (changed.hooks) known.hooks = false;
      if (changed.progress) known.progress = false;
      changed.hooks = false;
      changed.progress = false;
    },
  };
}
