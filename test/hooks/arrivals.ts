/** What came to the receiver of a hook, and the law of its order. */
import { expect } from 'bun:test';

/** A request that came to a receiver. */
export interface Arrival {
  id: string;
  sequence: number;
  // biome-ignore lint/suspicious/noExplicitAny: payloads are looked into
  payload: any;
  /** Whether it was answered with 2xx. */
  answered: boolean;
}

/**
 * Checks that deliveries came in order: each for the first time once the one before it was taken, and again only until the
 * next one came, as it was.
 * @param hook names the receiver where the law is broken
 * @returns what was taken, in order, and how many requests repeated what was taken
 */
export function takenInOrder<A extends Arrival>(
  hook: unknown,
  arrivals: readonly A[],
): { taken: A[]; repeated: number } {
  const taken = new Map<number, A>();
  let [highest, repeated] = [0, 0];
  for (const one of arrivals) {
    if (one.sequence > highest) {
      expect({ hook, sequence: one.sequence }).toEqual({ hook, sequence: highest + 1 });
      expect({ hook, sequence: highest, taken: highest === 0 || taken.has(highest) }).toEqual({
        hook,
        sequence: highest,
        taken: true,
      });
      highest = one.sequence;
    } else expect({ hook, sequence: one.sequence }).toEqual({ hook, sequence: highest });
    const before = taken.get(one.sequence);
    if (before !== undefined) {
      repeated += 1;
      expect([one.id, one.payload]).toEqual([before.id, before.payload]);
    }
    if (one.answered) taken.set(one.sequence, one);
  }
  expect({ hook, taken: taken.size }).toEqual({ hook, taken: highest });
  return { taken: [...taken.values()], repeated };
}
