/** Random numbers: the system's in production, the test's in tests. */

export interface Chance {
  /** A number from 0 (included) to 1 (excluded). */
  number(): number;
  uuid(): string;
}

export const systemChance: Chance = {
  number: Math.random,
  uuid: () => crypto.randomUUID(),
};
