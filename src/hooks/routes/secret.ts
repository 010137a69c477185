/** The routes of the secret that signs a consumer's deliveries. */
import { Type } from '@sinclair/typebox';
import { type Route, route } from '../../http/route.ts';
import type { HookFamily } from './family.ts';
import { SecretResponse } from './schemas.ts';

/** @returns the routes that read, replace and delete the signing secret of the consumer who calls */
export const secretRoutes = ({ at, family }: HookFamily): Route[] => [
  route({
    ...family,
    method: 'GET',
    path: `${at}/me/secret`,
    operationId: 'getConsumerSecret',
    summary: 'Signing secret',
    description: 'Returns the secret that signs your deliveries, or null if there is none.',
    response: SecretResponse,
    refusals: { ...family.refusals, 409: 'The server can not read the secret with the key that it has' },
    handle: ({ caller: { consumer, api } }) => api.management.secret(consumer),
  }),
  route({
    ...family,
    method: 'POST',
    path: `${at}/me/secret`,
    operationId: 'rotateConsumerSecret',
    summary: 'Replace the signing secret',
    description:
      'Creates a new signing secret and returns it. For one day, deliveries are signed with the former secret as well.',
    response: SecretResponse,
    refusals: { ...family.refusals, 409: 'The server has no key to seal the secret with' },
    handle: ({ caller: { consumer, api } }) => api.management.rotateSecret(consumer),
  }),
  route({
    ...family,
    method: 'DELETE',
    path: `${at}/me/secret`,
    operationId: 'deleteConsumerSecret',
    summary: 'Delete the signing secret',
    description: 'Deletes the signing secret. Deliveries are no longer signed.',
    status: 204,
    response: Type.Void(),
    handle: ({ caller: { consumer, api } }) => api.management.removeSecret(consumer),
  }),
];
