/** The secret that signs the deliveries of the calling consumer. */
import { Type } from '@sinclair/typebox';
import { type Route, route } from '../../http/route.ts';
import { newSecret, signingSecret } from '../delivery/signature.ts';
import type { Chainhooks } from '../service.ts';
import type { HookFamily, HookReader, ReadHooks } from './family.ts';
import { SecretResponse } from './schemas.ts';

export type ConsumerSecrets = ReturnType<typeof consumerSecrets>;

/** Manages a consumer's secret. */
export function consumerSecrets(
  { secrets, commands, sealing }: Pick<Chainhooks, 'secrets' | 'commands' | 'sealing'>,
  read: ReadHooks,
) {
  /** @throws HookProblem */
  function get({ hooks }: HookReader, consumer: string) {
    const secret = secrets.find(consumer, hooks.secrets);
    return {
      secret: secret === undefined ? null : secret.secret.toHex(),
      signing_secret: secret === undefined ? null : signingSecret(secret.secret),
    };
  }

  return {
    /** The secret as hex and in the form of Standard Webhooks; nulls without a secret. @throws HookProblem */
    get,
    /** Makes a new secret; the previous one also signs for a day. @throws HookProblem 409 without a key to seal it */
    async rotate(consumer: string) {
      const sealed = sealing.seal(consumer, newSecret()).toHex();
      await commands.run('hook.set_secret', { consumer, secret: sealed });
      return read((now) => get(now, consumer));
    },
    remove: (consumer: string): Promise<void> => commands.run('hook.remove_secret', { consumer }),
  };
}

/** The routes of the calling consumer's signing secret. */
export const secretRoutes = ({ prefix, reads, commands }: HookFamily<{ secrets: ConsumerSecrets }>): Route[] => [
  route({
    ...reads,
    path: `${prefix}/me/secret`,
    operationId: 'getConsumerSecret',
    summary: 'Signing secret',
    description: 'Returns the secret that signs your deliveries, or null if there is none.',
    response: SecretResponse,
    refusals: { ...reads.refusals, 409: "The server can't read the secret with the key that it has" },
    handle: ({ read, caller: { consumer, api } }) => api.secrets.get(read, consumer),
  }),
  route({
    ...commands,
    method: 'POST',
    path: `${prefix}/me/secret`,
    operationId: 'rotateConsumerSecret',
    summary: 'Replace the signing secret',
    description:
      'Creates a new signing secret and returns it. For one day, deliveries are signed with the former secret as well.',
    response: SecretResponse,
    refusals: { ...commands.refusals, 409: "The server can't encrypt the secret" },
    handle: ({ caller: { consumer, api } }) => api.secrets.rotate(consumer),
  }),
  route({
    ...commands,
    method: 'DELETE',
    path: `${prefix}/me/secret`,
    operationId: 'deleteConsumerSecret',
    summary: 'Delete the signing secret',
    description: 'Deletes the signing secret. Deliveries are no longer signed.',
    status: 204,
    response: Type.Void(),
    handle: ({ caller: { consumer, api } }) => api.secrets.remove(consumer),
  }),
];
