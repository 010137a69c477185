/** The time of the entry that is being applied, which is what hooks take for now meanwhile. */

export type CommandTime = ReturnType<typeof commandTime>;

export function commandTime() {
  let applied: number | null = null;
  return {
    /** Unix milliseconds. */
    now(): number {
      if (applied === null) throw new Error('nothing is being applied');
      return applied;
    },

    /** Runs `work` at a time, in Unix milliseconds. */
    at<T>(at: number, work: () => T): T {
      const before = applied;
      applied = at;
      try {
        return work();
      } finally {
        applied = before;
      }
    },
  };
}
