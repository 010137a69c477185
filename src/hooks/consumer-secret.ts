/** The secret that signs the deliveries of a consumer. */
import { newSecret, signingSecret } from './delivery/signature.ts';
import type { Chainhooks } from './service.ts';

export function consumerSecrets({ store, write, clock }: Chainhooks) {
  const { secrets } = store;

  function secret(consumer: string) {
    const found = secrets.find(consumer);
    return {
      secret: found === undefined ? null : found.secret.toHex(),
      signing_secret: found === undefined ? null : signingSecret(found.secret),
    };
  }

  return {
    /** As hex, and in the form of Standard Webhooks; nulls where the consumer has none. */
    secret,
    rotateSecret(consumer: string) {
      write(() => secrets.set(consumer, newSecret(), clock.now()), 'synced');
      return secret(consumer);
    },
    removeSecret(consumer: string): void {
      write(() => secrets.remove(consumer), 'synced');
    },
  };
}
