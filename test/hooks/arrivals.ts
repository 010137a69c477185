/** Requests that arrived at the receiver of a hook, and the law of their order. */
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
 * Checks that deliveries came in order: a new one only after the receiver accepted the one before, and repeated ones unchanged, and
 * only until the next one came.
 * @param hook name of the receiver, for the error message
 * @returns the accepted requests in order, and the number of requests that repeated one
 */
export function acceptedInOrder<A extends Arrival>(
  hook: unknown,
  arrivals: readonly A[],
): { accepted: A[]; repeated: number } {
  const accepted = new Map<number, A>();
  let [highest, repeated] = [0, 0];
  for (const arrival of arrivals) {
    if (arrival.sequence > highest) {
      expect({ hook, sequence: arrival.sequence }).toEqual({ hook, sequence: highest + 1 });
      expect({ hook, sequence: highest, accepted: highest === 0 || accepted.has(highest) }).toEqual({
        hook,
        sequence: highest,
        accepted: true,
      });
      highest = arrival.sequence;
    } else expect({ hook, sequence: arrival.sequence }).toEqual({ hook, sequence: highest });
    const previous = accepted.get(arrival.sequence);
    if (previous !== undefined) {
      repeated += 1;
      expect([arrival.id, arrival.payload]).toEqual([previous.id, previous.payload]);
    }
    if (arrival.answered) accepted.set(arrival.sequence, arrival);
  }
  expect({ hook, accepted: accepted.size }).toEqual({ hook, accepted: highest });
  return { accepted: [...accepted.values()], repeated };
}
