/**
 * Commands of consumers for their hooks and their signing secret, with the rules for each change.
 */
import type { Delivery, HookRecord } from '../../store/hooks/model.ts';
import { isEnabled, isPaused } from '../../store/hooks/records.ts';
import type { HookReads } from '../../store/hooks/store.ts';
import { queueNames } from '../../store/rows/enums.ts';
import { type HookDefinition, parseDefinition, patchedDefinition } from '../definition/definition.ts';
import type { HookEngine } from '../engine.ts';
import { invalidField, unknownHook } from '../problem.ts';

/** Identifies a hook and the consumer that must own it. */
export interface OwnHook {
  consumer: string;
  uuid: string;
}

type NewHook = OwnHook & { definition: HookDefinition };

/** The start of a re-enabled hook: the tip, the block after its last evaluated block, or a height. */
export type ResumeFrom = 'tip' | 'last_evaluated' | number;

/** Which hooks a bulk change concerns; a hook must match all given filters. */
export interface BulkFilters {
  uuids?: readonly string[];
  webhook_url?: string;
  statuses?: readonly HookRecord['status'][];
  /** Only hooks that a restore to an earlier point paused. A hook that was already disabled stays disabled. */
  paused?: true;
}

type BulkChange = { consumer: string; enabled: boolean; filters: BulkFilters };

/** @throws HookProblem 404 */
export function ownHook({ records }: Pick<HookReads, 'records'>, { consumer, uuid }: OwnHook): HookRecord {
  const record = records.find(uuid.toLowerCase(), consumer);
  if (record === undefined) throw unknownHook();
  return record;
}

/** The delivery that interrupted a hook, and is sent first once the hook is enabled; undefined if there is none. */
export function interruptingDelivery(
  { deliveries }: Pick<HookReads, 'deliveries'>,
  { stuckDelivery }: HookRecord,
): Delivery | undefined {
  const stuck = stuckDelivery === null ? undefined : deliveries.get(stuckDelivery);
  return stuck?.state === 'dead' && stuck.queue === 'live' ? stuck : undefined;
}

/** Creates the commands that register, change and delete hooks, and the commands of secrets. */
export function hookCommands(engine: HookEngine) {
  const { store, history } = engine;
  const { records, deliveries, ledger, backfills, secrets } = store;
  const ownRecord = (hook: OwnHook): HookRecord => ownHook(store, hook);

  function requireRecord(id: number): HookRecord {
    const record = records.get(id);
    if (record === undefined) throw new Error(`there is no hook ${id}`);
    return record;
  }

  /** Only for idle hooks. @throws HookProblem 400 for a height above the tip */
  function resume(record: HookRecord, from: ResumeFrom): void {
    if (from === 'tip' || (from === 'last_evaluated' && record.cursor.height === 0 && record.status === 'new')) {
      engine.enableAtTip(record);
      return;
    }
    if (typeof from === 'number') {
      const bottom = history.bottom();
      const height = Math.max(bottom, from - 1);
      const hash = height === bottom ? new Uint8Array(0) : history.hashAt(height);
      if (from > history.tip().height || hash === undefined) {
        throw invalidField('resume_from', `must not be above the tip, which is at ${history.tip().height}`);
      }
      records.setCursor(record.id, { height, hash });
    }
    engine.enableFromCursor(record);
  }

  /** The delivery that interrupted the hook is sent first, with a new budget. */
  function revive(record: HookRecord): void {
    const stuck = interruptingDelivery(store, record);
    if (stuck !== undefined) deliveries.requeue(stuck.id, 'live', stuck.reason);
  }

  /** Does nothing if the hook is enabled. */
  function enable(record: HookRecord, from: ResumeFrom | undefined): void {
    if (isEnabled(record)) return;
    const wasInterrupted = record.status === 'interrupted';
    const continues = wasInterrupted || record.stage === 'paused';
    if (record.status === 'expired') records.openWindow(record.id);
    if (wasInterrupted) revive(record);
    if (record.status !== 'new') records.setStatus(record.id, 'streaming');
    resume(requireRecord(record.id), from ?? (continues ? 'last_evaluated' : 'tip'));
    engine.queued(record.id, 'live');
  }

  function setEnabled(record: HookRecord, enabled: boolean, from?: ResumeFrom): void {
    if (enabled) enable(record, from);
    else engine.disable(record);
    if (!isPaused(record)) return;
    for (const queue of queueNames) engine.queued(record.id, queue);
    engine.wake();
  }

  /** Deliveries that waited for a readable secret are sent. */
  function wakeQueues(consumer: string): void {
    const hookIds = new Set(records.all(consumer).map(({ id }) => id));
    for (const { hookId, queue } of deliveries.openQueues()) if (hookIds.has(hookId)) engine.queued(hookId, queue);
  }

  return {
    /** Registers a hook. @returns the hook's record; it is enabled if its options enable it */
    'hook.register'({ uuid, consumer, definition }: NewHook, time: number): HookRecord {
      const { url } = definition.action;
      const id = records.add({ uuid, consumer, createdAt: time, definition: JSON.stringify(definition), url });
      if (definition.options?.enable_on_registration === true) engine.enableAtTip(requireRecord(id));
      return requireRecord(id);
    },

    /**
     * Replaces parts of the stored definition, starting with the next block; queued deliveries don't change.
     * @throws HookProblem 400 that names the field
     */
    'hook.redefine'({ change, ...hook }: OwnHook & { change: unknown }): HookRecord {
      const record = ownRecord(hook);
      const definition = patchedDefinition(parseDefinition(record), change, engine.network());
      engine.redefine(record, definition);
      return requireRecord(record.id);
    },

    /** Cancels queued deliveries; the delivery log stays until its retention ends. */
    'hook.remove'(hook: OwnHook, time: number): void {
      const record = ownRecord(hook);
      engine.disable(record);
      records.remove(record.id, time);
      deliveries.cancelAll(record.id);
      ledger.removeAll(record.id);
      backfills.cancelAll(record.id, time);
    },

    'hook.set_enabled': ({ enabled, from, ...hook }: OwnHook & { enabled: boolean; from?: ResumeFrom }): void =>
      setEnabled(ownRecord(hook), enabled, from),

    /** @returns uuids of all hooks that match the filters, oldest first */
    'hook.set_many_enabled'({ consumer, enabled, filters }: BulkChange): string[] {
      const { uuids, webhook_url: url, statuses, paused } = filters;
      const uuidSet = uuids === undefined ? null : new Set(uuids.map((uuid) => uuid.toLowerCase()));
      const matches = records
        .all(consumer)
        .filter((record) => uuidSet === null || uuidSet.has(record.uuid))
        .filter((record) => paused === undefined || isPaused(record))
        .filter((record) => statuses === undefined || statuses.includes(record.status))
        .filter((record) => url === undefined || parseDefinition(record).action.url === url)
        .sort((a, b) => a.createdAt - b.createdAt || a.id - b.id);
      for (const record of matches) {
        const wasIdle = paused === true && record.stage === 'paused_idle';
        setEnabled(record, enabled && !wasIdle);
      }
      return matches.map(({ uuid }) => uuid);
    },

    /** `secret`: sealed, in hex. The former secret signs as well for a day. */
    'hook.set_secret'({ consumer, secret }: { consumer: string; secret: string }, time: number): void {
      secrets.set(consumer, Uint8Array.fromHex(secret), time);
      wakeQueues(consumer);
    },

    'hook.remove_secret'({ consumer }: { consumer: string }): void {
      secrets.remove(consumer);
      wakeQueues(consumer);
    },
  };
}
