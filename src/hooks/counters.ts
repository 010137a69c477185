/** Counters of chainhooks since the process began, for metrics, at zero. */
export const newCounters = () => ({
  /** Number of blocks that live hooks were evaluated on. */
  evaluatedBlocks: 0,
  /** Blocks that matched, counted once per hook. */
  matches: 0,
  queued: 0,
  /** Queued deliveries that roll back blocks. */
  rollbacks: 0,
  /** Attempts with a 2xx response. */
  delivered: 0,
  /** Attempts without a 2xx response. */
  failed: 0,
  interrupted: 0,
  /** Attempts that were refused because the target is not allowed. */
  blockedTargets: 0,
});
export type HookCounters = ReturnType<typeof newCounters>;

/** Measures durations of chainhooks, for metrics. */
export interface HookTimers {
  /** Live hooks were evaluated on one step, and their deliveries queued. */
  evaluated(milliseconds: number): void;
  /** An attempt of a delivery ended, in success or failure. */
  attempted(milliseconds: number): void;
}

export const untimedHooks: HookTimers = { evaluated() {}, attempted() {} };
