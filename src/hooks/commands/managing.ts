/** Commands by which consumers manage their hooks and the secret that signs their deliveries. */
import type { HookRecord } from '../../store/hooks/model.ts';
import type { HookStore } from '../../store/hooks/store.ts';
import { definitionOf } from '../active-hook.ts';
import { type HookDefinition, patchedDefinition } from '../definition.ts';
import type { ResumeFrom } from '../lifecycle.ts';
import { HookProblem, unknownHook } from '../problem.ts';
import type { CommandParts } from './parts.ts';

/** A hook, by the consumer who owns it. */
export interface OwnHook {
  consumer: string;
  uuid: string;
}

/** Which hooks a bulk change is of; all that is given must hold. */
export interface BulkFilters {
  uuids?: readonly string[];
  webhook_url?: string;
  statuses?: readonly HookRecord['status'][];
}

/** @throws HookProblem 404 */
export function ownHook({ records }: Pick<HookStore, 'records'>, { consumer, uuid }: OwnHook): HookRecord {
  const record = records.find(uuid.toLowerCase(), consumer);
  if (record === undefined) throw unknownHook();
  return record;
}

/** The commands that register, change and delete hooks, and those of secrets. */
export function managementCommands({ store, network, lifecycle, evaluator }: CommandParts) {
  const { records, deliveries, secrets } = store;
  const own = (hook: OwnHook): HookRecord => ownHook(store, hook);

  /** @throws HookProblem 409 where the consumer may have no more */
  function checkRoom(consumer: string, most: number | null): void {
    if (most === null || records.count(consumer) < most) return;
    throw new HookProblem(409, `No more than ${most} chainhooks may be registered: delete one first`);
  }

  function setEnabled(record: HookRecord, enabled: boolean, from?: ResumeFrom): void {
    if (enabled) lifecycle.enable(record, from);
    else lifecycle.disable(record);
  }

  /** What waited for a secret that can be read goes on. */
  function resume(consumer: string): void {
    const own = new Set(records.all(consumer).map(({ id }) => id));
    for (const { hookId, lane } of deliveries.openLanes()) if (own.has(hookId)) evaluator.touch(hookId, lane);
  }

  return {
    /** `most`: hooks that a consumer may have; null for any number. */
    'hook.register'({
      uuid,
      consumer,
      definition,
      most,
    }: OwnHook & { definition: HookDefinition; most: number | null }): HookRecord {
      checkRoom(consumer, most);
      return lifecycle.register(uuid, consumer, definition);
    },

    /** `change` goes into the definition that is there now. @throws HookProblem 400 that names the field */
    'hook.redefine'({ change, ...hook }: OwnHook & { change: unknown }): HookRecord {
      const current = own(hook);
      return lifecycle.redefine(current, patchedDefinition(definitionOf(current), change, network()));
    },

    'hook.remove': (hook: OwnHook): void => lifecycle.remove(own(hook)),

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
      resume(consumer);
    },

    'hook.remove_secret'({ consumer }: { consumer: string }): void {
      secrets.remove(consumer);
      resume(consumer);
    },
  };
}
