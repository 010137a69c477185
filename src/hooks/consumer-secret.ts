/** The secret that signs the deliveries of a consumer. */
import { newSecret, signingSecret } from './delivery/signature.ts';
import { HookProblem } from './problem.ts';
import type { Chainhooks } from './service.ts';

/** What a consumer may do with its secret. */
export function consumerSecrets({ secrets, commands, isShared, sealing: { seal } }: Chainhooks) {
  function secret(consumer: string) {
    const found = secrets.find(consumer);
    return {
      secret: found === undefined ? null : found.secret.toHex(),
      signing_secret: found === undefined ? null : signingSecret(found.secret),
    };
  }

  /** A new secret, as it may leave this host. @throws HookProblem 409 where it may not */
  function newlyMade(consumer: string): Uint8Array {
    const made = newSecret();
    if (!isShared) return made;
    if (seal !== null) return seal(consumer, made);
    throw new HookProblem(409, 'A secret can be made once the hosts of this server have a --cluster-key');
  }

  return {
    /** The secret as hex, and in the form of Standard Webhooks; nulls where the consumer has none. */
    secret,
    /** Makes a new secret; the old one signs beside it for a day. */
    async rotateSecret(consumer: string) {
      await commands.run('hook.set_secret', { consumer, secret: newlyMade(consumer).toHex() }, 'synced');
      return secret(consumer);
    },
    removeSecret: (consumer: string): Promise<void> => commands.run('hook.remove_secret', { consumer }, 'synced'),
  };
}
