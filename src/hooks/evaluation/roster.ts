/**
 * The live hooks and where they stand, in memory as in the tables. Whatever a transaction changes in the tables it changes
 * here too; one that is undone has the roster read again what it may have changed. That is mostly where the hooks stand: of
 * hosts that share a log, each but one takes back its block when it comes to several of them.
 */
import type { Block } from '../../chain/block.ts';
import type { HookProgress } from '../../store/hooks/model.ts';
import type { HookStore } from '../../store/hooks/store.ts';
import { type ActiveHook, activeHook } from '../definition/definition.ts';
import { Matcher } from '../matching/matching.ts';

/** The hooks that are evaluated with each block, in memory, with their progress. */
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
