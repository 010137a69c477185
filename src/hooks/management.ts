/** What a consumer does with its hooks. Every function takes the consumer, who sees nobody else's. */
import type { HookRecord } from '../store/hooks/model.ts';
import { definitionOf } from './active-hook.ts';
import type { BlockChoice } from './block-choice.ts';
import { consumerSecrets } from './consumer-secret.ts';
import { type HookDefinition, patchedDefinition, readDefinition } from './definition.ts';
import { TargetRefused, TargetUnresolved } from './delivery/target.ts';
import type { ResumeFrom } from './lifecycle.ts';
import { evaluateOnDemand } from './on-demand.ts';
import { HookProblem, invalidField, unknownHook } from './problem.ts';
import { serializedHook } from './serialize.ts';
import type { Chainhooks } from './service.ts';

/** Which hooks a bulk change is of; all that is given must hold. */
export interface BulkFilters {
  uuids?: readonly string[];
  webhook_url?: string;
  statuses?: readonly HookRecord['status'][];
}

/** @param mostHooks of one consumer, null for any number */
export function management(hooks: Chainhooks, mostHooks: number | null) {
  const { store, history, write, lifecycle, guard, network } = hooks;
  const { records, deliveries } = store;

  /** @throws HookProblem 404 */
  function own(consumer: string, uuid: string): HookRecord {
    const record = records.find(uuid.toLowerCase(), consumer);
    if (record === undefined) throw unknownHook();
    return record;
  }

  function serialized(record: HookRecord) {
    const lag = Math.max(0, history.tip().height - record.cursor.height);
    return serializedHook(
      record,
      deliveries.waiting(record.id),
      record.stage === 'idle' && record.status === 'new' ? 0 : lag,
    );
  }

  /** @throws HookProblem 400 where the URL may not be called; a name that isn't known yet may be */
  async function checkTarget({ action }: HookDefinition): Promise<void> {
    try {
      await guard.check(action.url);
    } catch (error) {
      if (error instanceof TargetRefused) throw invalidField('action.url', `is not allowed: ${error.message}`);
      if (!(error instanceof TargetUnresolved)) throw error;
    }
  }

  /** @throws HookProblem 409 where the consumer may have no more */
  function checkRoom(consumer: string): void {
    if (mostHooks === null || records.count(consumer) < mostHooks) return;
    throw new HookProblem(409, `No more than ${mostHooks} chainhooks may be registered: delete one first`);
  }

  return {
    own,
    serialized,

    async register(consumer: string, body: unknown) {
      const definition = readDefinition(body, network());
      await checkTarget(definition);
      const record = await write(() => {
        checkRoom(consumer);
        return lifecycle.register(consumer, definition);
      }, 'synced');
      return serialized(record);
    },

    page(consumer: string, limit: number, offset: number) {
      const { items, total } = records.page(consumer, limit, offset);
      return { limit, offset, total, results: items.map(serialized) };
    },

    get: (consumer: string, uuid: string) => serialized(own(consumer, uuid)),

    async update(consumer: string, uuid: string, body: unknown) {
      const patched = (record: HookRecord) => patchedDefinition(definitionOf(record), body, network());
      await checkTarget(patched(own(consumer, uuid)));
      // The definition may have changed while a name was looked up: the body goes into the one that is there now.
      const record = await write(() => {
        const current = own(consumer, uuid);
        return lifecycle.redefine(current, patched(current));
      }, 'synced');
      return serialized(record);
    },

    remove: (consumer: string, uuid: string): Promise<void> =>
      write(() => lifecycle.remove(own(consumer, uuid)), 'synced'),

    setEnabled: (consumer: string, uuid: string, enabled: boolean, from?: ResumeFrom): Promise<void> =>
      write(() => {
        const record = own(consumer, uuid);
        if (enabled) lifecycle.enable(record, from);
        else lifecycle.disable(record);
      }, 'synced'),

    /** @returns uuids of all that the filters name, oldest first */
    setManyEnabled(
      consumer: string,
      enabled: boolean,
      { uuids, webhook_url: url, statuses }: BulkFilters,
    ): Promise<string[]> {
      const wanted = uuids === undefined ? null : new Set(uuids.map((uuid) => uuid.toLowerCase()));
      return write(() => {
        const chosen = records
          .all(consumer)
          .filter((record) => wanted === null || wanted.has(record.uuid))
          .filter((record) => statuses === undefined || statuses.includes(record.status))
          .filter((record) => url === undefined || definitionOf(record).action.url === url)
          .sort((a, b) => a.createdAt - b.createdAt || a.id - b.id);
        for (const record of chosen) {
          if (enabled) lifecycle.enable(record, undefined);
          else lifecycle.disable(record);
        }
        return chosen.map(({ uuid }) => uuid);
      }, 'synced');
    },

    /** Sends what the hook matches in a block to its receiver, once more or for the first time. */
    evaluate: (consumer: string, uuid: string, choice: BlockChoice): Promise<void> =>
      evaluateOnDemand(hooks, () => own(consumer, uuid), choice),

    ...consumerSecrets(hooks),
  };
}
export type Management = ReturnType<typeof management>;
