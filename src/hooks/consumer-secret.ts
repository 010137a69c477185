/** The secret that signs the deliveries of a consumer. */
import { newSecret, signingSecret } from './delivery/signature.ts';
import { HookProblem } from './problem.ts';
import type { Chainhooks } from './service.ts';

/** What a consumer may do with its secret. */
export function consumerSecrets({ store, commands, isShared }: Pick<Chainhooks, 'store' | 'commands' | 'isShared'>) {
  const { secrets } = store;

  function secret(consumer: string) {
    const found = secrets.find(consumer);
    return {
      secret: found === undefined ? null : found.secret.toHex(),
      signing_secret: found === undefined ? null : signingSecret(found.secret),
    };
  }

  return {
    /** The secret as hex, and in the form of Standard Webhooks; nulls where the consumer has none. */
    secret,
    /** Makes a new secret; the old one signs beside it for a day. */
    async rotateSecret(consumer: string) {
      if (isShared)
        throw new HookProblem(409, "A secret would stand in clear in the log that this server's hosts share");
      await commands.run('hook.set_secret', { consumer, secret: newSecret().toHex() }, 'synced');
      return secret(consumer);
    },
    removeSecret: (consumer: string): Promise<void> => commands.run('hook.remove_secret', { consumer }, 'synced'),
  };
}
