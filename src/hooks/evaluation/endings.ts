/** How a hook ends: expired by its own limits, or interrupted by what failed. */
import type { HookRecord } from '../../store/hooks/model.ts';
import type { HookStore } from '../../store/hooks/store.ts';
import { type ActiveHook, activeHook } from '../active-hook.ts';
import type { HookLog } from '../log-event.ts';
import type { Outcome } from './outcome.ts';
import type { Roster } from './roster.ts';

export type Endings = ReturnType<typeof hookEndings>;

/** @param now Unix milliseconds */
export function hookEndings(
  records: HookStore['records'],
  roster: Roster,
  outcome: Outcome,
  log: HookLog,
  now: () => number,
) {
  return {
    /** The hook has used up what its options allow. */
    expire({ id, consumer }: HookRecord, { uuid, name }: ActiveHook): void {
      records.leaveLive(id);
      records.setStatus(id, 'expired');
      roster.exclude(id);
      log({ event: 'hook_expired', uuid, name });
      const reason = 'it has used up what its options allow';
      outcome.ended({ type: 'chainhook.expired', consumer, uuid, name, reason, at: now() });
    },

    /** @param stuckDelivery the row of the delivery that failed for good; null where there is none */
    interrupt(record: HookRecord, reason: string, stuckDelivery: number | null): void {
      roster.begin();
      const { id, uuid, consumer } = record;
      if (record.stage !== 'idle') records.leaveLive(id);
      records.setStatus(id, 'interrupted', reason, stuckDelivery);
      roster.exclude(id);
      outcome.count('interrupted');
      const { name } = activeHook(record);
      log({ event: 'hook_interrupted', uuid, name, reason });
      outcome.ended({ type: 'chainhook.interrupted', consumer, uuid, name, reason, at: now() });
    },
  };
}
