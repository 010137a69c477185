/** The secret that signs the deliveries of a consumer. */
import { newSecret, signingSecret } from '../delivery/signature.ts';
import type { Chainhooks } from '../service.ts';

/** What a consumer may do with its secret. */
export function consumerSecrets({ secrets, commands, sealing }: Chainhooks) {
  /** @throws SecretUnreadableError */
  function secret(consumer: string) {
    const found = secrets.find(consumer);
    return {
      secret: found === undefined ? null : found.secret.toHex(),
      signing_secret: found === undefined ? null : signingSecret(found.secret),
    };
  }

  return {
    /** The secret as hex, and in the form of Standard Webhooks; nulls where the consumer has none. @throws SecretUnreadableError */
    secret,
    /** Makes a new secret; the old one signs beside it for a day. @throws HookProblem 409 without a key to seal it with */
    async rotateSecret(consumer: string) {
      const sealed = sealing.seal(consumer, newSecret()).toHex();
      await commands.run('hook.set_secret', { consumer, secret: sealed });
      return secret(consumer);
    },
    removeSecret: (consumer: string): Promise<void> => commands.run('hook.remove_secret', { consumer }),
  };
}
