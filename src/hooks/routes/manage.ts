/** Registering and managing hooks, as the published client calls it. */
import { Type } from '@sinclair/typebox';
import { offsetQuery } from '../../http/offset-pagination.ts';
import { type Route, route } from '../../http/route.ts';
import { Definition } from '../definition/definition.ts';
import type { HookFamily } from './family.ts';
import { BulkBody, EnabledBody, EvaluateBody, HookPage, HookResponse, Uuid } from './schemas.ts';

const uuid = { uuid: Uuid };
const NO_HOOK = 'Chainhook not found: this consumer has none with this id';
const limits = { maximum: 60, default: 20 };
const pageQuery = {
  ...offsetQuery(limits),
  limit: Type.Integer({ minimum: 1, ...limits, description: 'Maximum number of items on a page' }),
};
/** The body of a definition, which is read field by field, so that errors name the field. */
const AnyBody = Type.Unsafe<unknown>(Type.Object({}));

/** The routes that register, list, update, enable, evaluate and delete chainhooks. */
export const managementRoutes = ({ at, family, operatorFamily }: HookFamily): Route[] => [
  route({
    ...operatorFamily,
    method: 'GET',
    path: `${at}/consumers`,
    operationId: 'getChainhookConsumers',
    summary: 'Consumers',
    description:
      'Returns the consumers that have chainhooks, each with the number of its chainhooks. Only the admin key may ask; the admin acts for a consumer with the header `X-Chainhook-Consumer`.',
    response: Type.Object({ results: Type.Array(Type.Object({ consumer: Type.String(), hooks: Type.Integer() })) }),
    handle: ({ caller: { api } }) => ({ results: api.consumers() }),
  }),
  route({
    ...family,
    method: 'GET',
    path: `${at}/me`,
    operationId: 'getChainhooks',
    summary: 'Your chainhooks',
    description: 'Returns the chainhooks of the consumer whose key is used, newest first.',
    query: pageQuery,
    response: HookPage,
    handle: ({ query, caller: { consumer, api } }) => api.management.page(consumer, query.limit, query.offset),
  }),
  route({
    ...family,
    method: 'POST',
    path: `${at}/me`,
    operationId: 'registerChainhook',
    summary: 'Register a chainhook',
    description:
      'Stores a chainhook and returns it with its id. A chainhook starts disabled unless `options.enable_on_registration` is true.',
    body: AnyBody,
    described: { body: Definition },
    response: HookResponse,
    refusals: { ...family.refusals, 409: 'The consumer has as many chainhooks as it may have' },
    handle: ({ body, caller: { consumer, api } }) => api.management.register(consumer, body),
  }),
  route({
    ...family,
    method: 'PATCH',
    path: `${at}/me/enabled`,
    operationId: 'bulkEnableChainhooks',
    summary: 'Enable or disable several chainhooks',
    description: 'Enables or disables all chainhooks that match every one of the filters, and returns their ids.',
    body: BulkBody,
    response: Type.Object({ updated_uuids: Type.Array(Type.String()) }),
    handle: async ({ body, caller: { consumer, api } }) => ({
      updated_uuids: await api.management.setManyEnabled(consumer, body.enabled, body.filters),
    }),
  }),
  route({
    ...family,
    method: 'GET',
    path: `${at}/me/{uuid}`,
    operationId: 'getChainhook',
    summary: 'One chainhook',
    description:
      'Returns a chainhook with its definition and its status, such as the last evaluated block and the number of pending deliveries.',
    params: uuid,
    response: HookResponse,
    notFound: NO_HOOK,
    handle: ({ params, caller: { consumer, api } }) => api.management.get(consumer, params.uuid),
  }),
  route({
    ...family,
    method: 'PATCH',
    path: `${at}/me/{uuid}`,
    operationId: 'updateChainhook',
    summary: 'Update a chainhook',
    description: 'Replaces the given parts of the definition, starting with the next block, and returns the chainhook.',
    params: uuid,
    body: AnyBody,
    described: { body: Type.Partial(Definition) },
    response: HookResponse,
    notFound: NO_HOOK,
    handle: ({ params, body, caller: { consumer, api } }) => api.management.update(consumer, params.uuid, body),
  }),
  route({
    ...family,
    method: 'DELETE',
    path: `${at}/me/{uuid}`,
    operationId: 'deleteChainhook',
    summary: 'Delete a chainhook',
    description: 'Deletes a chainhook and cancels its queued deliveries.',
    params: uuid,
    status: 204,
    response: Type.Void(),
    notFound: NO_HOOK,
    handle: ({ params, caller: { consumer, api } }) => api.management.remove(consumer, params.uuid),
  }),
  route({
    ...family,
    method: 'PATCH',
    path: `${at}/me/{uuid}/enabled`,
    operationId: 'enableChainhook',
    summary: 'Enable or disable a chainhook',
    description: 'Enables or disables a chainhook. `resume_from` states where a re-enabled chainhook continues.',
    params: uuid,
    body: EnabledBody,
    status: 204,
    response: Type.Void(),
    notFound: NO_HOOK,
    handle: ({ params, body, caller: { consumer, api } }) =>
      api.management.setEnabled(consumer, params.uuid, body.enabled, body.resume_from),
  }),
  route({
    ...family,
    method: 'POST',
    path: `${at}/me/{uuid}/evaluate`,
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
