/** Registering and managing hooks, as the published client calls it. */
import { Type } from '@sinclair/typebox';
import { offsetQuery } from '../../http/offset-pagination.ts';
import { type Route, route } from '../../http/route.ts';
import { Definition } from '../definition.ts';
import { BulkBody, EnabledBody, EvaluateBody, HookPage, HookShown, SecretShown, Uuid } from '../schemas.ts';
import type { HookFamily } from './family.ts';

const uuid = { uuid: Uuid };
const NO_HOOK = 'No such chainhook of this consumer';
const limits = { maximum: 60, default: 20 };
const pageQuery = {
  ...offsetQuery(limits),
  limit: Type.Integer({ minimum: 1, ...limits, description: 'Items per page' }),
};
/** The body of a definition, which is read field by field, so that errors name the field. */
const AnyBody = Type.Unsafe<unknown>(Type.Object({}));

export const managementRoutes = ({ at, family, operatorFamily }: HookFamily): Route[] => [
  route({
    ...operatorFamily,
    method: 'GET',
    path: `${at}/consumers`,
    operationId: 'getChainhookConsumers',
    summary: 'Consumers that have chainhooks; for the operator, who acts for one by the header X-Chainhook-Consumer',
    response: Type.Object({ results: Type.Array(Type.Object({ consumer: Type.String(), hooks: Type.Integer() })) }),
    handle: ({ caller: { api } }) => ({ results: api.consumers() }),
  }),
  route({
    ...family,
    method: 'GET',
    path: `${at}/me`,
    operationId: 'getChainhooks',
    summary: 'Your chainhooks, newest first',
    query: pageQuery,
    response: HookPage,
    handle: ({ query, caller: { consumer, api } }) => api.management.page(consumer, query.limit, query.offset),
  }),
  route({
    ...family,
    method: 'POST',
    path: `${at}/me`,
    operationId: 'registerChainhook',
    summary: 'Registers a chainhook',
    body: AnyBody,
    described: { body: Definition },
    response: HookShown,
    handle: ({ body, caller: { consumer, api } }) => api.management.register(consumer, body),
  }),
  route({
    ...family,
    method: 'PATCH',
    path: `${at}/me/enabled`,
    operationId: 'bulkEnableChainhooks',
    summary: 'Enables or disables all chainhooks that the filters name',
    body: BulkBody,
    response: Type.Object({ updated_uuids: Type.Array(Type.String()) }),
    handle: ({ body, caller: { consumer, api } }) => ({
      updated_uuids: api.management.setManyEnabled(consumer, body.enabled, body.filters),
    }),
  }),
  route({
    ...family,
    method: 'GET',
    path: `${at}/me/secret`,
    operationId: 'getConsumerSecret',
    summary: 'The secret that signs your deliveries, null where there is none',
    response: SecretShown,
    handle: ({ caller: { consumer, api } }) => api.management.secret(consumer),
  }),
  route({
    ...family,
    method: 'POST',
    path: `${at}/me/secret`,
    operationId: 'rotateConsumerSecret',
    summary: 'Makes a new secret; the one before signs beside it for a day',
    response: SecretShown,
    handle: ({ caller: { consumer, api } }) => api.management.rotateSecret(consumer),
  }),
  route({
    ...family,
    method: 'DELETE',
    path: `${at}/me/secret`,
    operationId: 'deleteConsumerSecret',
    summary: 'Deliveries are signed no more',
    status: 204,
    response: Type.Void(),
    handle: ({ caller: { consumer, api } }) => api.management.removeSecret(consumer),
  }),
  route({
    ...family,
    method: 'GET',
    path: `${at}/me/{uuid}`,
    operationId: 'getChainhook',
    summary: 'A chainhook and where it stands',
    params: uuid,
    response: HookShown,
    notFound: NO_HOOK,
    handle: ({ params, caller: { consumer, api } }) => api.management.get(consumer, params.uuid),
  }),
  route({
    ...family,
    method: 'PATCH',
    path: `${at}/me/{uuid}`,
    operationId: 'updateChainhook',
    summary: 'Replaces the parts of the definition that are sent, from the next block on',
    params: uuid,
    body: AnyBody,
    described: { body: Definition },
    response: HookShown,
    notFound: NO_HOOK,
    handle: ({ params, body, caller: { consumer, api } }) => api.management.update(consumer, params.uuid, body),
  }),
  route({
    ...family,
    method: 'DELETE',
    path: `${at}/me/{uuid}`,
    operationId: 'deleteChainhook',
    summary: 'Deletes a chainhook and what it has queued',
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
    summary: 'Enables or disables a chainhook',
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
    summary: 'Evaluates one block, and delivers what matches',
    params: uuid,
    body: EvaluateBody,
    status: 204,
    response: Type.Void(),
    notFound: 'No such chainhook or canonical block',
    handle: ({ params, body, caller: { consumer, api } }) => api.management.evaluate(consumer, params.uuid, body),
  }),
];
