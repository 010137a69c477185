/** Chance, for whatever draws: the system's, or a test's own. */

export interface Chance {
  /** From 0 up to 1. */
  number(): number;
  uuid(): string;
}

export const systemChance: Chance = {
  number: Math.random,
  uuid: () => crypto.randomUUID(),
};
