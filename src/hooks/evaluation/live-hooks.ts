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
  /** Null if it must be read again. */
  let cachedProgress: HookProgress | null = null;
  /** `changed` if the open transaction may have changed the hooks, in the cache or in the tables. */
  let state: 'unread' | 'changed' | 'committed' = 'unread';

  function progress(): HookProgress {
    cachedProgress ??= records.progress();
    return cachedProgress;
  }

  function include(hook: ActiveHook): void {
    state = 'changed';
    hooks.set(hook.id, hook);
    matcher.set(hook.id, hook.conditions);
  }

  return {
    /** Reads the hooks if a rollback may have changed them. Every change calls this first. */
    load(): void {
      if (state !== 'unread') return;
      matcher.clear();
      hooks.clear();
      for (const record of records.live()) include(activeHook(record));
      state = 'changed';
    },
    include,
    exclude(id: number): void {
      state = 'changed';
      hooks.delete(id);
      matcher.delete(id);
    },
    get: (id: number): ActiveHook | undefined => hooks.get(id),
    match: (block: Block) => matcher.match(block),
    progress,

    /** The live hooks were evaluated on a block. @param time Unix milliseconds */
    advance({ height, indexBlockHash }: Block, time: number): void {
      const evaluated = progress().evaluated + 1;
      cachedProgress = { evaluated, cursor: { height, hash: indexBlockHash }, evaluatedAt: time };
      records.setProgress(cachedProgress);
    },

    committed(): void {
      if (state === 'changed') state = 'committed';
    },
    undone(): void {
      if (state === 'changed') state = 'unread';
      cachedProgress = null;
    },
  };
}
