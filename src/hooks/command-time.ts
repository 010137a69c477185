/** The time of what is being applied, which is what hooks take for now meanwhile. */

export type CommandTime = ReturnType<typeof commandTime>;

/** @param now the clock, in Unix milliseconds, for what has no time of its own */
export function commandTime(now: () => number) {
  let applied: number | null = null;
  return {
    /** Unix milliseconds. */
    now: (): number => applied ?? now(),

    /** Runs `work` at a time. @param at Unix milliseconds; null where the work has no time of its own */
    at<T>(at: number | null, work: () => T): T {
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
