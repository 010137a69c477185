/** Live hooks in memory. */
import type { Block } from '../../chain/block.ts';
import type { HookProgress } from '../../store/hooks/model.ts';
import type { HookStore } from '../../store/hooks/store.ts';
import { type ActiveHook, activeHook } from '../definition/definition.ts';
import { Matcher } from '../matching/matching.ts';

/**
 * The live hooks and their progress, cached in memory. A transaction changes cache and tables together. After a rollback, the
 * progress is read again, and the hooks only if they may have changed: when hosts share a log, all hosts except one roll back a
 * block that arrives at several.
 */
export function liveHooks(records: HookStore['records']) {
  const matcher = new Matcher();
  const hooks = new Map<number, ActiveHook>();
  let progress: HookProgress = records.progress();
  /** Whether each part of the cache agrees with the tables. */
  const loaded = { hooks: false, progress: true };
  /** Whether the hooks may have changed since the last commit, in the cache or in the tables. */
  let areHooksChanged = false;

  function include(hook: ActiveHook): void {
    areHooksChanged = true;
    hooks.set(hook.id, hook);
    matcher.set(hook.id, hook.conditions);
  }

  function loadHooks(): void {
    matcher.clear();
    hooks.clear();
    for (const record of records.live()) include(activeHook(record));
    loaded.hooks = true;
    // The open transaction may have changed the tables.
    areHooksChanged = true;
  }

  function load(): void {
    if (!loaded.hooks) loadHooks();
    if (!loaded.progress) progress = records.progress();
    loaded.progress = true;
  }

  return {
    /** Reads what a rollback may have changed. Every change calls this first. */
    load,
    include,
    exclude(id: number): void {
      areHooksChanged = true;
      hooks.delete(id);
      matcher.delete(id);
    },
    get: (id: number): ActiveHook | undefined => hooks.get(id),
    match: (block: Block) => matcher.match(block),
    progress: (): HookProgress => progress,

    /** The live hooks were evaluated on a block. @param time Unix milliseconds */
    advance({ height, indexBlockHash }: Block, time: number): void {
      progress = { evaluated: progress.evaluated + 1, cursor: { height, hash: indexBlockHash }, evaluatedAt: time };
      records.setProgress(progress);
    },

    committed(): void {
      areHooksChanged = false;
    },
    undone(): void {
      if (areHooksChanged) loaded.hooks = false;
      loaded.progress = false;
      areHooksChanged = false;
    },
  };
}
