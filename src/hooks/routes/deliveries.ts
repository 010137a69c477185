/** The delivery log: deliveries with their results, and redelivery. */
import { Type } from '@sinclair/typebox';
import { named, words } from '../../api/shared/fields.ts';
import { ParameterError } from '../../http/errors.ts';
import { CursorPage, cursorList, cursorQuery } from '../../http/pagination.ts';
import { type Route, route } from '../../http/route.ts';
import { type DeliveryFilter, everyDelivery } from '../../store/hooks/delivery-log.ts';
import type { Delivery, HookRecord } from '../../store/hooks/model.ts';
import type { Cursor } from '../../store/model/page.ts';
import { deliveryStates, reasons } from '../../store/rows/enums.ts';
import { requireDelivery } from '../commands/deliveries.ts';
import { ownHook } from '../commands/hooks.ts';
import { invalidField, unknownHook } from '../problem.ts';
import type { Chainhooks } from '../service.ts';
import { type HookFamily, type HookReader, ONE_HOOK, type ReadHooks } from './family.ts';
import {
  DeliveryDetail,
  DeliverySummary,
  RedeliverBody,
  serializedAttempts,
  serializedDelivery,
  Uuid,
} from './schemas.ts';

/** Maximum deliveries that are queued again in one turn. */
const BATCH = 500;

export type DeliveryLog = ReturnType<typeof deliveryLog>;

/** A hook of the consumer. Deleted hooks are included, since their log stays for a while. @throws HookProblem 404 */
function loggedHook({ hooks: { records } }: HookReader, consumer: string, uuid: string): HookRecord {
  const record = records.find(uuid.toLowerCase(), consumer, true);
  if (record === undefined) throw unknownHook();
  return record;
}

/** The delivery log of a consumer's hooks, and redelivery. */
export function deliveryLog(
  { commands, dispatcher, clock }: Pick<Chainhooks, 'commands' | 'dispatcher' | 'clock'>,
  read: ReadHooks,
) {
  const serialize = ({ hooks: { deliveries } }: HookReader, delivery: Delivery) =>
    serializedDelivery(delivery, {
      lastAttempt: deliveries.attempts(delivery.id, 1)[0],
      underWay: dispatcher.underWay().includes(delivery.id),
    });

  return {
    page(
      now: HookReader,
      consumer: string,
      uuid: string,
      filter: DeliveryFilter,
      ...start: [limit: number, start: Cursor | null]
    ) {
      const page = now.hooks.deliveries.page(loggedHook(now, consumer, uuid).id, filter, ...start);
      return { ...page, items: page.items.map((delivery) => serialize(now, delivery)) };
    },

    get(now: HookReader, consumer: string, uuid: string, id: string) {
      const { deliveries } = now.hooks;
      const delivery = requireDelivery(now.hooks, loggedHook(now, consumer, uuid).id, id);
      const body = deliveries.body(delivery.id);
      return {
        ...serialize(now, delivery),
        attempts: serializedAttempts(deliveries.attempts(delivery.id)),
        payload: body === undefined ? null : (JSON.parse(body) as object),
      };
    },

    /** @throws HookProblem 409 if the delivery is under way, 410 if its body is no longer stored */
    async redeliver(consumer: string, uuid: string, id: string) {
      const args = { consumer, uuid, delivery: id, underWay: dispatcher.underWay() };
      await commands.run('delivery.redeliver', args);
      return read((now) => serialize(now, requireDelivery(now.hooks, ownHook(now.hooks, { consumer, uuid }).id, id)));
    },

    /** Redelivers in the original order, except deliveries without a body and running ones. @returns the number of deliveries */
    async redeliverMany(consumer: string, uuid: string, filter: Partial<DeliveryFilter>): Promise<number> {
      const filters = { ...everyDelivery, states: ['failed', 'delivered', 'dead'] as const, ...filter };
      let queued = 0;
      for (let after = 0; ; ) {
        const args = { consumer, uuid, filter: filters, after, limit: BATCH, underWay: dispatcher.underWay() };
        const batch = await commands.run('delivery.redeliver_many', args);
        if (batch.last === null) return queued;
        after = batch.last;
        queued += batch.queued;
        await clock.turn();
      }
    },

    /** Gives up the delivery that blocks a hook, so that the next one is sent. */
    async skip(consumer: string, uuid: string, id: string): Promise<void> {
      const args = { consumer, uuid, delivery: id, underWay: dispatcher.underWay() };
      await commands.run('delivery.skip', args);
    },
  };
}

const id = Type.String({
  pattern: '^[A-Za-z0-9_-]{1,80}$',
  rule: 'an id of 1 to 80 letters, digits, _ and -',
  description: 'Id of the delivery, as in the header `webhook-id`',
  examples: ['msg_1'],
});
const height = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description, examples: [1] });
const NO_DELIVERY = 'Delivery not found: no chainhook of this consumer has it';
const MILLISECONDS = 1000;

const filterQuery = {
  state: Type.Optional(
    Type.Array(words(...deliveryStates), {
      maxItems: deliveryStates.length,
      description:
        'States to return, separated by commas or as repeated keys. Deliveries that are `in_flight` are among those that are pending or failed.',
    }),
  ),
  reason: Type.Optional({ ...words(...reasons), description: 'Reason of the deliveries to return' }),
  from_height: Type.Optional(height('Height of the lowest block with returned deliveries')),
  to_height: Type.Optional(height('Height of the highest block with returned deliveries')),
};

/** Reads the heights of a filter. @throws ParameterError for an empty range */
function heightsIn(location: 'querystring' | 'body', range: { from_height?: number; to_height?: number }) {
  const { from_height: fromHeight = everyDelivery.fromHeight, to_height: toHeight = everyDelivery.toHeight } = range;
  if (fromHeight > toHeight)
    throw new ParameterError({ location, path: ['from_height'] }, 'must not be above to_height');
  return { fromHeight, toHeight };
}

/** Reads the filter of a redelivery. @throws HookProblem or ParameterError for an empty range */
function chosenDeliveries(body: (typeof RedeliverBody)['static']): Partial<DeliveryFilter> {
  const { state, since = 0, until } = body;
  if (until !== undefined && since > until) throw invalidField('since', 'must not be after until');
  return {
    ...(state === undefined ? {} : { states: state }),
    ...heightsIn('body', body),
    since: since * MILLISECONDS,
    until: until === undefined ? everyDelivery.until : until * MILLISECONDS + MILLISECONDS - 1,
  };
}

/** The routes that read the delivery log and send deliveries again. */
export const deliveryRoutes = ({ prefix, reads, commands }: HookFamily<{ deliveries: DeliveryLog }>): Route[] => [
  route({
    ...reads,
    path: `${prefix}/me/{uuid}/deliveries`,
    operationId: 'getDeliveries',
    summary: 'Delivery log',
    description:
      'Returns the deliveries of a chainhook, sent and pending, newest first. The deliveries of a deleted chainhook are returned as well.',
    ...ONE_HOOK,
    query: { ...cursorQuery, ...filterQuery },
    response: CursorPage(DeliverySummary),
    handle: ({ read, params, query, caller: { consumer, api } }) => {
      const list = cursorList(`deliveries ${params.uuid.toLowerCase()}`, query);
      const filter: DeliveryFilter = {
        ...everyDelivery,
        ...(query.state === undefined ? {} : { states: query.state }),
        reason: query.reason ?? null,
        ...heightsIn('querystring', query),
      };
      return list.page(api.deliveries.page(read, consumer, params.uuid, filter, ...list.start), (item) => item);
    },
  }),
  route({
    ...commands,
    method: 'POST',
    path: `${prefix}/me/{uuid}/deliveries/redeliver`,
    operationId: 'redeliverMany',
    summary: 'Redeliver several deliveries',
    description:
      'Queues the deliveries that match all filters in the body again, in their original order, and returns how many there are. `since` and `until` limit the time of creation. Without `state`, it queues dead, failed and delivered ones.',
    ...ONE_HOOK,
    body: RedeliverBody,
    status: 202,
    response: named('QueuedRedeliveries', { queued: Type.Integer() }),
    handle: async ({ params, body, caller: { consumer, api } }) => ({
      queued: await api.deliveries.redeliverMany(consumer, params.uuid, chosenDeliveries(body)),
    }),
  }),
  route({
    ...reads,
    path: `${prefix}/me/{uuid}/deliveries/{id}`,
    operationId: 'getDelivery',
    summary: 'One delivery',
    description: 'Returns a delivery with its attempts, newest first, and its body.',
    params: { uuid: Uuid, id },
    response: DeliveryDetail,
    notFound: NO_DELIVERY,
    handle: ({ read, params, caller: { consumer, api } }) => api.deliveries.get(read, consumer, params.uuid, params.id),
  }),
  route({
    ...commands,
    method: 'POST',
    path: `${prefix}/me/{uuid}/deliveries/{id}/redeliver`,
    operationId: 'redeliver',
    summary: 'Redeliver one delivery',
    description: 'Queues a delivery again, with the same id and body.',
    params: { uuid: Uuid, id },
    status: 202,
    response: DeliverySummary,
    notFound: NO_DELIVERY,
    refusals: {
      ...commands.refusals,
      409: 'The delivery is pending or in flight',
      410: 'The body of the delivery is no longer stored',
    },
    handle: ({ params, caller: { consumer, api } }) => api.deliveries.redeliver(consumer, params.uuid, params.id),
  }),
  route({
    ...commands,
    method: 'POST',
    path: `${prefix}/me/{uuid}/deliveries/{id}/skip`,
    operationId: 'skipDelivery',
    summary: 'Skip a delivery',
    description: 'Skips the delivery that blocks the others in its queue, so that the next one is sent.',
    params: { uuid: Uuid, id },
    status: 204,
    response: Type.Void(),
    notFound: NO_DELIVERY,
    refusals: {
      ...commands.refusals,
      409: 'The delivery is not the first one that waits in its queue, or is under way',
    },
    handle: ({ params, caller: { consumer, api } }) => api.deliveries.skip(consumer, params.uuid, params.id),
  }),
];
