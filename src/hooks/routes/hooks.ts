/** Registration and management of hooks as the published client uses them, and the list of all chainhook routes. */
import { Type } from '@sinclair/typebox';
import { named } from '../../api/shared/fields.ts';
import { toHex } from '../../codec/hex.ts';
import { TargetRefused, TargetUnresolved } from '../../http/outgoing.ts';
import { offsetQuery } from '../../http/pagination.ts';
import { type Route, route } from '../../http/route.ts';
import type { HookRecord } from '../../store/hooks/model.ts';
import { isEnabled, isSendable } from '../../store/hooks/records.ts';
import { type BulkFilters, interruptingDelivery, ownHook, type ResumeFrom } from '../commands/hooks.ts';
import {
  activeHook,
  Definition,
  type HookDefinition,
  ignoredKeys,
  parseDefinition,
  patchedDefinition,
  readDefinition,
} from '../definition/definition.ts';
import { type BlockChoice, chosenBlock, scanner } from '../matching/scan.ts';
import { invalidField } from '../problem.ts';
import type { Chainhooks } from '../service.ts';
import { type Backfills, backfillRoutes } from './backfills.ts';
import { type DeliveryLog, deliveryRoutes } from './deliveries.ts';
import {
  type HookCallers,
  type HookFamily,
  type HookReader,
  hookFamily,
  ONE_HOOK,
  PREFIXES,
  type ReadHooks,
} from './family.ts';
import { BulkBody, EnabledBody, EvaluateBody, HookPage, HookResponse, serializedHook, Uuid } from './schemas.ts';
import { type ConsumerSecrets, secretRoutes } from './secret.ts';
import { type Trials, trialRoutes } from './trials.ts';

/** Maximum requested evaluations of a hook that may wait for its receiver. */
const MAX_WAITING = 10_000;

/** Why a hook that is enabled can't start elsewhere. Only requests are checked: entries of the log may break the rule. */
const NEEDS_DISABLED =
  'needs a disabled chainhook; disable it first, or send past blocks with POST /chainhooks/me/{uuid}/backfills';

type Management = ReturnType<typeof management>;

/** Manages the hooks of consumers. Every function takes the consumer and finds only this consumer's hooks. */
export function management(
  hooks: Pick<
    Chainhooks,
    'store' | 'history' | 'publish' | 'commands' | 'guard' | 'network' | 'random' | 'pausedReason'
  >,
  read: ReadHooks,
) {
  const { store, history, publish, commands, guard, network, random, pausedReason } = hooks;

  /**
   * The delivery that makes a hook fail: the one that interrupted it or waits for a retry, live ones first, or else the one
   * that was given up last, if the last attempt failed.
   */
  function findFailing({ deliveries }: HookReader['hooks'], record: HookRecord) {
    const { id, stuckDelivery, consecutiveFailures } = record;
    const stuck = stuckDelivery === null ? undefined : deliveries.get(stuckDelivery);
    const failed = deliveries.failed(id);
    const sendable = failed.filter(({ queue }) => isSendable(record, queue));
    const retried = sendable.find(({ queue }) => queue === 'live') ?? sendable[0] ?? failed[0];
    const wasLastFailed = stuckDelivery !== null || consecutiveFailures > 0;
    const delivery = stuck ?? retried ?? (wasLastFailed ? deliveries.lastDead(id) : undefined);
    return delivery === undefined ? null : { delivery, attempt: deliveries.attempts(delivery.id, 1)[0] };
  }

  /** Open deliveries, and the one that interrupted the hook. */
  function countWaiting(hooks: HookReader['hooks'], record: HookRecord) {
    const { count, oldest } = hooks.deliveries.waiting(record.id);
    const interrupting = interruptingDelivery(hooks, record);
    if (interrupting === undefined) return { count, oldest };
    return { count: count + 1, oldest: Math.min(interrupting.createdAt, oldest ?? interrupting.createdAt) };
  }

  function serialize({ hooks, height }: HookReader, record: HookRecord) {
    const lag = Math.max(0, height() - record.cursor.height);
    return serializedHook({
      record,
      waiting: countWaiting(hooks, record),
      failing: findFailing(hooks, record),
      lag: record.stage === 'idle' && record.status === 'new' ? 0 : lag,
      pausedReason: pausedReason(record),
    });
  }

  /** The hook that a body defined or changed, with warnings about ignored keys of the body. */
  function serializeAnswer(now: HookReader, record: HookRecord, body: unknown) {
    const { status, ...hook } = serialize(now, record);
    return { ...hook, status: { ...status, warnings: [...ignoredKeys(body), ...status.warnings] } };
  }

  /** @throws HookProblem 400 if a URL is not allowed. A name that can't be resolved yet is allowed. */
  async function checkTargets({ action, options }: HookDefinition): Promise<void> {
    await checkTarget('action.url', action.url);
    const alertUrl = options?.alert_url ?? null;
    if (alertUrl !== null) await checkTarget('options.alert_url', alertUrl);
  }

  async function checkTarget(field: string, url: string): Promise<void> {
    try {
      await guard.check(url);
    } catch (error) {
      if (error instanceof TargetRefused) throw invalidField(field, `is not allowed: ${error.message}`);
      if (!(error instanceof TargetUnresolved)) throw error;
    }
  }

  return {
    async register(consumer: string, body: unknown) {
      const definition = readDefinition(body, network());
      await checkTargets(definition);
      const hook = { uuid: random.uuid(), consumer, definition };
      const record = await commands.run('hook.register', hook);
      return read((now) => serializeAnswer(now, record, body));
    },

    /** @param failing whether only failing hooks are returned */
    page(now: HookReader, consumer: string, limit: number, offset: number, failing: boolean) {
      const { items, total } = now.hooks.records[failing ? 'failing' : 'page'](consumer, limit, offset);
      return { limit, offset, total, results: items.map((record) => serialize(now, record)) };
    },

    get: (now: HookReader, consumer: string, uuid: string) => serialize(now, ownHook(now.hooks, { consumer, uuid })),

    async update(consumer: string, uuid: string, body: unknown) {
      const stored = parseDefinition(read((now) => ownHook(now.hooks, { consumer, uuid })));
      await checkTargets(patchedDefinition(stored, body, network()));
      // The stored definition may have changed during the name look-up: the command merges the body into the present one.
      const record = await commands.run('hook.redefine', { consumer, uuid, change: body });
      return read((now) => serializeAnswer(now, record, body));
    },

    remove: (consumer: string, uuid: string): Promise<void> => commands.run('hook.remove', { consumer, uuid }),

    /** @throws HookProblem 400 if the start can't be chosen: the hook is to be disabled, or is enabled already */
    async setEnabled(consumer: string, uuid: string, enabled: boolean, from?: ResumeFrom): Promise<void> {
      if (from !== undefined) {
        if (!enabled) throw invalidField('resume_from', 'is not allowed if enabled is false');
        // An enabled hook continues after its last evaluated block anyway.
        const isIgnored = from !== 'last_evaluated' && isEnabled(read((now) => ownHook(now.hooks, { consumer, uuid })));
        if (isIgnored) throw invalidField('resume_from', NEEDS_DISABLED);
      }
      await commands.run('hook.set_enabled', { consumer, uuid, enabled, ...(from === undefined ? {} : { from }) });
    },

    /**
     * @returns uuids of all hooks that match the filters, oldest first
     * @throws HookProblem 400 if `webhook_url` is not a URL
     */
    async setManyEnabled(consumer: string, enabled: boolean, filters: BulkFilters): Promise<string[]> {
      const { webhook_url: url } = filters;
      if (url !== undefined && !URL.canParse(url)) {
        throw invalidField('filters.webhook_url', 'must be an absolute URL');
      }
      return await commands.run('hook.set_many_enabled', { consumer, enabled, filters });
    },

    /**
     * Sends the matches of a block to the hook's receiver, apart from live deliveries. Counters, status and budgets don't
     * change.
     * @throws HookProblem 404 for the hook, 404 or 400 for the block, 429 if too many evaluations wait
     */
    async evaluate(consumer: string, uuid: string, choice: BlockChoice): Promise<void> {
      const record = read((now) => ownHook(now.hooks, { consumer, uuid }));
      publish();
      const block = chosenBlock(history, choice);
      const { candidates } = store;
      if (scanner({ history, candidates }, activeHook(record).conditions).matchIn(block) === null) return;
      const evaluation = { consumer, uuid, block: toHex(block), request: random.uuid(), most: MAX_WAITING };
      await commands.run('delivery.evaluate', evaluation);
    },
  };
}

const uuid = { uuid: Uuid };
const limits = { maximum: 60, default: 20 };
const pageQuery = {
  ...offsetQuery(limits),
  limit: Type.Integer({ minimum: 1, ...limits, description: 'Maximum number of items on a page' }),
  failing: Type.Boolean({
    default: false,
    description:
      'Whether to return only chainhooks that were interrupted, whose last attempt failed, or that have a delivery waiting for a retry',
  }),
};
const Consumers = named('Consumers', {
  results: Type.Array(
    named('Consumer', {
      consumer: Type.String(),
      hooks: Type.Integer(),
      failing: Type.Integer({
        description:
          'Chainhooks that were interrupted, whose last attempt failed, or that have a delivery waiting for a retry',
      }),
    }),
  ),
});

/** The body of a definition, which is read field by field, so that errors name the field. */
const AnyBody = Type.Unsafe<unknown>(Type.Object({}));

const registryRoutes = ({
  prefix,
  reads,
  operatorReads,
  commands,
}: HookFamily<{ management: Management }>): Route[] => [
  route({
    ...operatorReads,
    path: `${prefix}/consumers`,
    operationId: 'getChainhookConsumers',
    summary: 'Consumers',
    description:
      'Returns the consumers that have chainhooks, each with the number of its chainhooks and of those that fail. Requires the admin key; the admin acts for a consumer with the header `X-Chainhook-Consumer`.',
    response: Consumers,
    handle: ({ read }) => ({ results: read.hooks.records.consumers() }),
  }),
  route({
    ...reads,
    path: `${prefix}/me`,
    operationId: 'getChainhooks',
    summary: 'Your chainhooks',
    description: 'Returns the chainhooks of the consumer that the key belongs to, newest first.',
    query: pageQuery,
    response: HookPage,
    handle: ({ read, query, caller: { consumer, api } }) =>
      api.management.page(read, consumer, query.limit, query.offset, query.failing),
  }),
  route({
    ...commands,
    method: 'POST',
    path: `${prefix}/me`,
    operationId: 'registerChainhook',
    summary: 'Register a chainhook',
    description:
      'Stores a chainhook and returns it with its id. A chainhook starts disabled unless `options.enable_on_registration` is true.',
    body: AnyBody,
    described: { body: Definition },
    response: HookResponse,
    handle: ({ body, caller: { consumer, api } }) => api.management.register(consumer, body),
  }),
  route({
    ...commands,
    method: 'PATCH',
    path: `${prefix}/me/enabled`,
    operationId: 'bulkEnableChainhooks',
    summary: 'Enable or disable several chainhooks',
    description: 'Enables or disables all chainhooks that match every one of the filters, and returns their ids.',
    body: BulkBody,
    response: named('UpdatedChainhooks', { updated_uuids: Type.Array(Type.String()) }),
    handle: async ({ body, caller: { consumer, api } }) => ({
      updated_uuids: await api.management.setManyEnabled(consumer, body.enabled, body.filters),
    }),
  }),
  route({
    ...reads,
    path: `${prefix}/me/{uuid}`,
    operationId: 'getChainhook',
    summary: 'One chainhook',
    description:
      'Returns a chainhook with its definition and its status, such as the last evaluated block and the number of pending deliveries.',
    ...ONE_HOOK,
    response: HookResponse,
    handle: ({ read, params, caller: { consumer, api } }) => api.management.get(read, consumer, params.uuid),
  }),
  route({
    ...commands,
    method: 'PATCH',
    path: `${prefix}/me/{uuid}`,
    operationId: 'updateChainhook',
    summary: 'Update a chainhook',
    description:
      'Replaces each given part of the definition as a whole, starting with the next block, and returns the chainhook. An option that `options` omits is removed, as is a filter that `filters` omits.',
    ...ONE_HOOK,
    body: AnyBody,
    described: { body: Type.Partial(Definition) },
    response: HookResponse,
    handle: ({ params, body, caller: { consumer, api } }) => api.management.update(consumer, params.uuid, body),
  }),
  route({
    ...commands,
    method: 'DELETE',
    path: `${prefix}/me/{uuid}`,
    operationId: 'deleteChainhook',
    summary: 'Delete a chainhook',
    description: 'Deletes a chainhook and cancels its queued deliveries.',
    ...ONE_HOOK,
    status: 204,
    response: Type.Void(),
    handle: ({ params, caller: { consumer, api } }) => api.management.remove(consumer, params.uuid),
  }),
  route({
    ...commands,
    method: 'PATCH',
    path: `${prefix}/me/{uuid}/enabled`,
    operationId: 'enableChainhook',
    summary: 'Enable or disable a chainhook',
    description:
      'Enables or disables a chainhook. `resume_from` states where a re-enabled chainhook continues; it is refused if the chainhook is enabled, unless it is `last_evaluated`.',
    ...ONE_HOOK,
    body: EnabledBody,
    status: 204,
    response: Type.Void(),
    handle: ({ params, body, caller: { consumer, api } }) =>
      api.management.setEnabled(consumer, params.uuid, body.enabled, body.resume_from),
  }),
  route({
    ...commands,
    method: 'POST',
    path: `${prefix}/me/{uuid}/evaluate`,
    operationId: 'evaluateChainhook',
    summary: 'Evaluate one block',
    description: 'Evaluates a chainhook on one block of the canonical chain and queues a delivery if it matches.',
    params: uuid,
    body: EvaluateBody,
    status: 204,
    response: Type.Void(),
    notFound: 'Chainhook not found, or the canonical chain has no such block',
    handle: ({ params, body, caller: { consumer, api } }) => api.management.evaluate(consumer, params.uuid, body),
  }),
];

export interface HookApi extends HookCallers {
  management: Management;
  secrets: ConsumerSecrets;
  deliveries: DeliveryLog;
  trials: Trials;
  backfills: Backfills;
}

/** Creates the status route, which works without a key. */
const status = (path: string, hidden: boolean, version: string): Route =>
  route({
    path,
    operationId: 'getChainhooksStatus',
    summary: 'Chainhook service status',
    description: 'Returns `ready` and the version of the server. This route works without a key.',
    tag: 'Chainhooks',
    hidden,
    response: named('ChainhooksStatus', { server_version: Type.String(), status: Type.Literal('ready') }),
    etag: null,
    history: 'none',
    handle: () => ({ server_version: version, status: 'ready' as const }),
  });

/** All chainhook routes. @param api null if this process doesn't write */
export const hookRoutes = (version: string, api: HookApi | null): Route[] =>
  PREFIXES.flatMap((prefix) => {
    const family = hookFamily(prefix, api);
    return [
      status(prefix, family.reads.hidden, version),
      ...registryRoutes(family),
      ...secretRoutes(family),
      ...deliveryRoutes(family),
      ...trialRoutes(family),
      ...backfillRoutes(family),
    ];
  });
