/** Random numbers: the system's in production, the test's in tests. */

export interface RandomSource {
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  number(): number;
  uuid(): string;
}

export const systemRandom: RandomSource = {
  number: Math.random,
  uuid: () => crypto.randomUUID(),
};
