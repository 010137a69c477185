/**
 * The live hooks and where they stand, in memory as in the tables. Whatever a transaction changes in the tables it changes
 * here too; one that is undone has the roster read them again.
 */
import type { Block } from '../../chain/block.ts';
import type { Cursor, HookProgress } from '../../store/hooks/model.ts';
import type { HookStore } from '../../store/hooks/store.ts';
import { type ActiveHook, activeHook } from '../active-hook.ts';
import { Matcher } from '../matching.ts';

export type Roster = ReturnType<typeof liveHooks>;

/** The hooks that are evaluated with each block, in memory, with their progress. */
export function liveHooks(records: HookStore['records']) {
  const matcher = new Matcher();
  const hooks = new Map<number, ActiveHook>();
  let progress: HookProgress = records.progress();
  let loaded = false;
  /** Whether something was done since the last commit, here or in the tables. */
  let dirty = false;

  function include(hook: ActiveHook): void {
    hooks.set(hook.id, hook);
    matcher.set(hook.id, hook.conditions);
  }

  function load(): void {
    if (loaded) return;
    matcher.clear();
    hooks.clear();
    for (const record of records.live()) include(activeHook(record));
    progress = records.progress();
    loaded = true;
  }

  function setProgress(next: HookProgress): void {
    progress = next;
    records.setProgress(next);
  }

  return {
    load,
    include,
    exclude(id: number): void {
      hooks.delete(id);
      matcher.delete(id);
    },
    get: (id: number): ActiveHook | undefined => hooks.get(id),
    isEmpty: (): boolean => matcher.hooks === 0,
    match: (block: Block) => matcher.match(block),
    progress: (): HookProgress => progress,

    /** Every change begins with this: the tables may have been undone since. */
    begin(): void {
      load();
      dirty = true;
    },
    /** The live hooks were evaluated on a block. @param at Unix milliseconds */
    advance({ height, indexBlockHash }: Block, at: number): void {
      setProgress({ evaluated: progress.evaluated + 1, cursor: { height, hash: indexBlockHash }, evaluatedAt: at });
    },
    /** Nobody has to see what lies between. */
    moveTo(cursor: Cursor): void {
      setProgress({ ...progress, cursor });
    },

    /** The tables were replaced since they were read. */
    replaced(): void {
      loaded = false;
      dirty = true;
    },

    committed(): void {
      dirty = false;
    },
    /** Most of what is undone is an event that was known already, and no change of the hooks. */
    undone(): void {
      if (dirty) loaded = false;
      dirty = false;
    },
  };
}
