/** What a consumer does with its hooks. Every function takes the consumer, who sees nobody else's. */
import type { HookRecord } from '../../store/hooks/model.ts';
import type { ResumeFrom } from '../commands/hooks.ts';
import { type BulkFilters, ownHook } from '../commands/hooks.ts';
import { definitionOf, type HookDefinition, patchedDefinition, readDefinition } from '../definition/definition.ts';
import { TargetRefused, TargetUnresolved } from '../delivery/target.ts';
import type { BlockChoice } from '../matching/scan.ts';
import { invalidField } from '../problem.ts';
import type { Chainhooks } from '../service.ts';
import { consumerSecrets } from './consumer-secret.ts';
import { evaluateOnDemand } from './on-demand.ts';
import { serializedHook } from './serialize.ts';

/** @param mostHooks of one consumer, null for any number */
export function management(hooks: Chainhooks, mostHooks: number | null) {
  const { store, history, commands, guard, network, chance, pausedReason } = hooks;
  const { records, deliveries } = store;

  /** @throws HookProblem 404 */
  const own = (consumer: string, uuid: string): HookRecord => ownHook(store, { consumer, uuid });

  function serialized(record: HookRecord) {
    const lag = Math.max(0, history.tip().height - record.cursor.height);
    return serializedHook(
      record,
      deliveries.waiting(record.id),
      record.stage === 'idle' && record.status === 'new' ? 0 : lag,
      pausedReason(record),
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

  return {
    own,
    serialized,

    async register(consumer: string, body: unknown) {
      const definition = readDefinition(body, network());
      await checkTarget(definition);
      const hook = { uuid: chance.uuid(), consumer, definition, most: mostHooks };
      return serialized(await commands.run('hook.register', hook));
    },

    page(consumer: string, limit: number, offset: number) {
      const { items, total } = records.page(consumer, limit, offset);
      return { limit, offset, total, results: items.map(serialized) };
    },

    get: (consumer: string, uuid: string) => serialized(own(consumer, uuid)),

    async update(consumer: string, uuid: string, body: unknown) {
      await checkTarget(patchedDefinition(definitionOf(own(consumer, uuid)), body, network()));
      // The definition may have changed while a name was looked up: the body goes into the one that is there now.
      return serialized(await commands.run('hook.redefine', { consumer, uuid, change: body }));
    },

    remove: (consumer: string, uuid: string): Promise<void> => commands.run('hook.remove', { consumer, uuid }),

    setEnabled: (consumer: string, uuid: string, enabled: boolean, from?: ResumeFrom): Promise<void> =>
      commands.run('hook.set_enabled', { consumer, uuid, enabled, ...(from === undefined ? {} : { from }) }),

    /** @returns uuids of all that the filters name, oldest first */
    setManyEnabled: (consumer: string, enabled: boolean, filters: BulkFilters): Promise<string[]> =>
      commands.run('hook.set_many_enabled', { consumer, enabled, filters }),

    /** Sends what the hook matches in a block to its receiver, once more or for the first time. */
    evaluate: (consumer: string, uuid: string, choice: BlockChoice): Promise<void> =>
      evaluateOnDemand(hooks, own(consumer, uuid), choice),

    ...consumerSecrets(hooks),
  };
}
export type Management = ReturnType<typeof management>;
