/** Random numbers: the system's in production, the test's in tests. */

export interface Chance {
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  number(): number;
  uuid(): string;
}

export const systemChance: Chance = {
  number: Math.random,
  uuid: () => crypto.randomUUID(),
};
