/** Object stores of an archive that fail: requests fail, and the writer ends during any of them. */
import fc from 'fast-check';
import type { ObjectStore } from '../../../src/storage/object-store.ts';
import type { Seen } from '../property.ts';
import type { S3Server } from './s3-server.ts';

/** Returns a store whose caller dies during one of its requests. The request may take effect, but is never answered. */
export function mortal(
  store: ObjectStore,
  lives: { requests: number; isDone: boolean },
): { store: ObjectStore; died: Promise<void> } {
  const death = Promise.withResolvers<void>();
  let remaining = lives.requests;
  const until =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      remaining -= 1;
      if (remaining > 0) return call(...args);
      if (remaining === 0 && lives.isDone) await call(...args).catch(() => {});
      death.resolve();
      return new Promise<R>(() => {});
    };
  return {
    died: death.promise,
    store: {
      location: store.location,
      check: until(store.check),
      read: until(store.read),
      list: until(store.list),
      create: until(store.create),
      write: until(store.write),
      remove: until(store.remove),
    },
  };
}

/** How a request fails. */
export const fault = fc.constantFrom('refused', 'torn', 'unanswered', 'late', 'cut');
/** Faults of the server: every third request, and which of them. */
export function faulty(kinds: readonly string[], seen: Seen): S3Server['fail'] {
  let count = 0;
  return () => {
    count += 1;
    if (count % 3 !== 0) return null;
    const kind = kinds[(count / 3) % kinds.length]!;
    seen.add(kind);
    return kind === 'refused' ? { status: 503, code: 'SlowDown' } : (kind as 'torn');
  };
}
