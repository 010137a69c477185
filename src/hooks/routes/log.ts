/** The log of deliveries, and sending them again. */
import { Type } from '@sinclair/typebox';
import { CursorPage, cursorPage, cursorQuery, pageCursor } from '../../http/pagination.ts';
import { type Route, route } from '../../http/route.ts';
import { type DeliveryFilter, everyDelivery } from '../../store/hooks/delivery-log.ts';
import { deliveryStates, reasons } from '../../store/rows/hook-words.ts';
import type { HookFamily } from './family.ts';
import { DeliveryDetail, DeliverySummary, RedeliverBody, Uuid } from './schemas.ts';

const id = Type.String({
  pattern: '^[A-Za-z0-9_-]{1,80}$',
  description: 'Id of the delivery, as in the header `webhook-id`',
  examples: ['msg_1'],
});
const height = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description, examples: [1] });
const NO_DELIVERY = 'Delivery not found: no chainhook of this consumer has it';
const MILLISECONDS = 1000;

const filterQuery = {
  state: Type.Optional(
    Type.Array(Type.Union(deliveryStates.map((word) => Type.Literal(word))), {
      maxItems: deliveryStates.length,
      description: 'States to return, separated by commas or as repeated keys',
    }),
  ),
  reason: Type.Optional(
    Type.Union(
      reasons.map((word) => Type.Literal(word)),
      { description: 'Reason of the deliveries to return' },
    ),
  ),
  from_height: Type.Optional(height('Height of the lowest block whose deliveries are returned')),
  to_height: Type.Optional(height('Height of the highest block whose deliveries are returned')),
};

/** The routes that read the delivery log and send deliveries again. */
export const logRoutes = ({ at, family }: HookFamily): Route[] => [
  route({
    ...family,
    method: 'GET',
    path: `${at}/me/{uuid}/deliveries`,
    operationId: 'getDeliveries',
    summary: 'Delivery log',
    description:
      'Returns the deliveries of a chainhook, sent and pending, newest first. The deliveries of a deleted chainhook are returned as well.',
    params: { uuid: Uuid },
    query: { ...cursorQuery, ...filterQuery },
    response: CursorPage(DeliverySummary),
    notFound: 'Chainhook not found: this consumer has none with this id',
    handle: ({ params, query, caller: { consumer, api } }) => {
      const list = `deliveries ${params.uuid.toLowerCase()}`;
      const filter: DeliveryFilter = {
        ...everyDelivery,
        ...(query.state === undefined ? {} : { states: query.state }),
        reason: query.reason ?? null,
        fromHeight: query.from_height ?? everyDelivery.fromHeight,
        toHeight: query.to_height ?? everyDelivery.toHeight,
      };
      const page = api.deliveries.page(consumer, params.uuid, filter, query.limit, pageCursor(list, query.cursor));
      return cursorPage(list, query.limit, page, (one) => one);
    },
  }),
  route({
    ...family,
    method: 'POST',
    path: `${at}/me/{uuid}/deliveries/redeliver`,
    operationId: 'redeliverMany',
    summary: 'Redeliver several deliveries',
    description:
      'Queues the deliveries that match the filters in the body again, in their original order, and returns how many there are.',
    params: { uuid: Uuid },
    body: RedeliverBody,
    status: 202,
    response: Type.Object({ queued: Type.Integer() }),
    notFound: 'Chainhook not found: this consumer has none with this id',
    handle: async ({ params, body, caller: { consumer, api } }) => ({
      queued: await api.deliveries.redeliverMany(consumer, params.uuid, {
        ...(body.state === undefined ? {} : { states: body.state }),
        fromHeight: body.from_height ?? everyDelivery.fromHeight,
        toHeight: body.to_height ?? everyDelivery.toHeight,
        since: (body.since ?? 0) * MILLISECONDS,
        until: body.until === undefined ? everyDelivery.until : body.until * MILLISECONDS + MILLISECONDS - 1,
      }),
    }),
  }),
  route({
    ...family,
    method: 'GET',
    path: `${at}/me/{uuid}/deliveries/{id}`,
    operationId: 'getDelivery',
    summary: 'One delivery',
    description: 'Returns a delivery with its attempts, newest first, and its body.',
    params: { uuid: Uuid, id },
    response: DeliveryDetail,
    notFound: NO_DELIVERY,
    handle: ({ params, caller: { consumer, api } }) => api.deliveries.get(consumer, params.uuid, params.id),
  }),
  route({
    ...family,
    method: 'POST',
    path: `${at}/me/{uuid}/deliveries/{id}/redeliver`,
    operationId: 'redeliver',
    summary: 'Redeliver one delivery',
    description: 'Queues a delivery again, with the same id and body.',
    params: { uuid: Uuid, id },
    status: 202,
    response: DeliverySummary,
    notFound: NO_DELIVERY,
    refusals: {
      ...family.refusals,
      409: 'The delivery is pending or in flight',
      410: 'The body of the delivery is kept no more',
    },
    handle: ({ params, caller: { consumer, api } }) => api.deliveries.redeliver(consumer, params.uuid, params.id),
  }),
  route({
    ...family,
    method: 'POST',
    path: `${at}/me/{uuid}/deliveries/{id}/skip`,
    operationId: 'skipDelivery',
    summary: 'Skip a delivery',
    description: 'Gives up the delivery that blocks the chainhook, so that the next one is sent.',
    params: { uuid: Uuid, id },
    status: 204,
    response: Type.Void(),
    notFound: NO_DELIVERY,
    refusals: { ...family.refusals, 409: 'The delivery is not the one that its chainhook waits for' },
    handle: ({ params, caller: { consumer, api } }) => api.deliveries.skip(consumer, params.uuid, params.id),
  }),
];
