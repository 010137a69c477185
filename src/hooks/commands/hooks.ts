/**
 * Commands by which consumers manage their hooks and the secret that signs their deliveries: what a hook may become, and by
 * whom.
 */
import type { HookRecord } from '../../store/hooks/model.ts';
import type { HookReads } from '../../store/hooks/store.ts';
import { activeHook, definitionOf, type HookDefinition, patchedDefinition } from '../definition/definition.ts';
import type { HookEngine } from '../engine.ts';
import { HookProblem, invalidField, unknownHook } from '../problem.ts';

/** A hook, by the consumer who owns it. */
export interface OwnHook {
  consumer: string;
  uuid: string;
}

/** Where an enabled hook begins: at the tip, after the last block it saw, or at a height. */
export type ResumeFrom = 'tip' | 'last_evaluated' | number;

/** Which hooks a bulk change is of; all that is given must hold. */
export interface BulkFilters {
  uuids?: readonly string[];
  webhook_url?: string;
  statuses?: readonly HookRecord['status'][];
}

/** @throws HookProblem 404 */
export function ownHook({ records }: Pick<HookReads, 'records'>, { consumer, uuid }: OwnHook): HookRecord {
  const record = records.find(uuid.toLowerCase(), consumer);
  if (record === undefined) throw unknownHook();
  return record;
}

/** The commands that register, change and delete hooks, and those of secrets. */
export function hookCommands(engine: HookEngine) {
  const { store, history } = engine;
  const { records, deliveries, ledger, backfills, secrets } = store;
  const own = (hook: OwnHook): HookRecord => ownHook(store, hook);

  function recordOf(id: number): HookRecord {
    const record = records.get(id);
    if (record === undefined) throw new Error(`there is no hook ${id}`);
    return record;
  }

  /** @throws HookProblem 409 where the consumer may have no more */
  function checkRoom(consumer: string, most: number | null): void {
    if (most === null || records.count(consumer) < most) return;
    throw new HookProblem(409, `The limit of ${most} chainhooks is reached; delete one first`);
  }

  /** Idle ones only. @throws HookProblem 400 for a height above the tip */
  function resume(record: HookRecord, from: ResumeFrom): void {
    if (from === 'tip' || (from === 'last_evaluated' && record.cursor.height === 0 && record.status === 'new')) {
      engine.enableAtTip(record);
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
    engine.enableFromCursor(record);
  }

  /** The delivery that interrupted it goes first, as if it had never been tried. */
  function revive(record: HookRecord): void {
    const stuck = record.stuckDelivery === null ? undefined : deliveries.get(record.stuckDelivery);
    if (stuck?.state === 'dead' && stuck.queue === 'live') deliveries.requeue(stuck.id, 'live', stuck.reason);
  }

  /** Nothing where it is enabled already. */
  function enable(record: HookRecord, from: ResumeFrom | undefined): void {
    if (record.stage !== 'idle') return;
    const wasInterrupted = record.status === 'interrupted';
    if (record.status === 'expired') records.openWindow(record.id);
    if (wasInterrupted) revive(record);
    if (record.status !== 'new') records.setStatus(record.id, 'streaming');
    resume(recordOf(record.id), from ?? (wasInterrupted ? 'last_evaluated' : 'tip'));
    engine.queued(record.id, 'live');
  }

  function setEnabled(record: HookRecord, enabled: boolean, from?: ResumeFrom): void {
    if (enabled) enable(record, from);
    else engine.disable(record);
  }

  /** What waited for a secret that can be read goes on. */
  function wakeQueuesOf(consumer: string): void {
    const own = new Set(records.all(consumer).map(({ id }) => id));
    for (const { hookId, queue } of deliveries.openQueues()) if (own.has(hookId)) engine.queued(hookId, queue);
  }

  return {
    /** `most`: hooks that a consumer may have; null for any number. @returns its record; enabled where its options say so */
    'hook.register'(
      { uuid, consumer, definition, most }: OwnHook & { definition: HookDefinition; most: number | null },
      at: number,
    ): HookRecord {
      checkRoom(consumer, most);
      const { url } = definition.action;
      const id = records.add({ uuid, consumer, createdAt: at, definition: JSON.stringify(definition), url });
      if (definition.options?.enable_on_registration === true) engine.enableAtTip(recordOf(id));
      return recordOf(id);
    },

    /**
     * Replaces parts of the definition that is there now, from the next block on; what is queued stays as it is.
     * @throws HookProblem 400 that names the field
     */
    'hook.redefine'({ change, ...hook }: OwnHook & { change: unknown }): HookRecord {
      const record = own(hook);
      const definition = patchedDefinition(definitionOf(record), change, engine.network());
      const text = JSON.stringify(definition);
      const expiresAt = engine.expiresAt(record, activeHook({ ...record, definition: text }));
      records.setDefinition(record.id, text, definition.action.url, expiresAt);
      const changed = recordOf(record.id);
      engine.redefined(changed);
      return changed;
    },

    /** What is queued is cancelled; the log stays for a while. */
    'hook.remove'(hook: OwnHook, at: number): void {
      const record = own(hook);
      engine.disable(record);
      records.remove(record.id, at);
      deliveries.cancelAll(record.id);
      ledger.removeAll(record.id);
      backfills.cancelAll(record.id, at);
    },

    'hook.set_enabled': ({ enabled, from, ...hook }: OwnHook & { enabled: boolean; from?: ResumeFrom }): void =>
      setEnabled(own(hook), enabled, from),

    /** @returns uuids of all that the filters name, oldest first */
    'hook.set_many_enabled'({
      consumer,
      enabled,
      filters,
    }: {
      consumer: string;
      enabled: boolean;
      filters: BulkFilters;
    }): string[] {
      const { uuids, webhook_url: url, statuses } = filters;
      const wanted = uuids === undefined ? null : new Set(uuids.map((uuid) => uuid.toLowerCase()));
      const chosen = records
        .all(consumer)
        .filter((record) => wanted === null || wanted.has(record.uuid))
        .filter((record) => statuses === undefined || statuses.includes(record.status))
        .filter((record) => url === undefined || definitionOf(record).action.url === url)
        .sort((a, b) => a.createdAt - b.createdAt || a.id - b.id);
      for (const record of chosen) setEnabled(record, enabled);
      return chosen.map(({ uuid }) => uuid);
    },

    /** `secret` is sealed, in hex; the one that was there signs beside it for a day. */
    'hook.set_secret'({ consumer, secret }: { consumer: string; secret: string }, at: number): void {
      secrets.set(consumer, Uint8Array.fromHex(secret), at);
      wakeQueuesOf(consumer);
    },

    'hook.remove_secret'({ consumer }: { consumer: string }): void {
      secrets.remove(consumer);
      wakeQueuesOf(consumer);
    },
  };
}
