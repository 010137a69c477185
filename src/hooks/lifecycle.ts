/** What a hook may become, and by whom: registered, enabled, disabled, deleted. Each is called in a transaction. */
import type { HookRecord } from '../store/hooks/model.ts';
import type { HookStore } from '../store/hooks/store.ts';
import type { ChainHistory } from '../store/ingest/ingest.ts';
import { activeHook } from './active-hook.ts';
import type { HookDefinition } from './definition.ts';
import type { Evaluator } from './evaluation/evaluator.ts';
import { invalidField } from './problem.ts';

/** Where an enabled hook begins: at the tip, after the last block it saw, or at a height. */
export type ResumeFrom = 'tip' | 'last_evaluated' | number;

export type Lifecycle = ReturnType<typeof lifecycle>;

/** Registers, enables, disables, redefines and removes hooks. Every function is called in a transaction. */
export function lifecycle(store: HookStore, history: ChainHistory, evaluator: Evaluator, now: () => number) {
  const { records, deliveries, ledger, backfills } = store;

  /** Idle ones only. */
  function resume(record: HookRecord, from: ResumeFrom): void {
    if (from === 'tip' || (from === 'last_evaluated' && record.cursor.height === 0 && record.status === 'new')) {
      evaluator.enableAtTip(record);
      return;
    }
    if (typeof from === 'number') {
      const height = Math.max(0, from - 1);
      const hash = height === 0 ? new Uint8Array(0) : history.hashAt(height);
      if (from > history.tip().height || hash === undefined) {
        throw invalidField('resume_from', `must not be above the tip, which is at ${history.tip().height}`);
      }
      records.setCursor(record.id, { height, hash });
    }
    evaluator.enableFromCursor(record);
  }

  /** The delivery that interrupted it goes first, as if it had never been tried. */
  function revive(record: HookRecord): void {
    const stuck = record.stuckDelivery === null ? undefined : deliveries.get(record.stuckDelivery);
    if (stuck?.state === 'dead' && stuck.lane === 'live') deliveries.requeue(stuck.id, 'live', stuck.reason);
  }

  return {
    /** @returns its record; enabled where its options say so */
    register(uuid: string, consumer: string, definition: HookDefinition): HookRecord {
      const { url } = definition.action;
      const hook = { uuid, consumer, createdAt: now(), definition: JSON.stringify(definition), url };
      const id = records.add(hook);
      const record = recordOf(id);
      if (definition.options?.enable_on_registration === true) evaluator.enableAtTip(record);
      return recordOf(id);
    },

    /** Replaces a hook's definition from the next block on; what is queued stays as it is. */
    redefine(record: HookRecord, definition: HookDefinition): HookRecord {
      const text = JSON.stringify(definition);
      const hook = activeHook({ ...record, definition: text });
      records.setDefinition(record.id, text, definition.action.url, evaluator.expiresAt(record, hook));
      const changed = recordOf(record.id);
      evaluator.redefined(changed);
      return changed;
    },

    /** Nothing where it is enabled already. */
    enable(record: HookRecord, from: ResumeFrom | undefined): void {
      if (record.stage !== 'idle') return;
      const wasInterrupted = record.status === 'interrupted';
      if (record.status === 'expired') records.openWindow(record.id);
      if (wasInterrupted) revive(record);
      if (record.status !== 'new') records.setStatus(record.id, 'streaming');
      resume(recordOf(record.id), from ?? (wasInterrupted ? 'last_evaluated' : 'tip'));
      evaluator.touch(record.id, 'live');
    },

    disable(record: HookRecord): void {
      evaluator.disable(record);
    },

    /** What is queued is cancelled; the log stays for a while. */
    remove(record: HookRecord): void {
      evaluator.disable(record);
      records.remove(record.id, now());
      deliveries.cancelAll(record.id);
      ledger.removeAll(record.id);
      backfills.cancelAll(record.id, now());
    },
  };

  function recordOf(id: number): HookRecord {
    const record = records.get(id);
    if (record === undefined) throw new Error(`there is no hook ${id}`);
    return record;
  }
}
