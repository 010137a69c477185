/** Counters of chainhooks since the process began, for metrics. */
export interface HookCounters {
  /** Number of blocks that live hooks were evaluated on. */
  evaluatedBlocks: number;
  /** Blocks that matched, counted once per hook. */
  matches: number;
  /** Queued deliveries. */
  queued: number;
  /** Queued deliveries that roll back blocks. */
  rollbacks: number;
  /** Attempts with a 2xx response. */
  delivered: number;
  /** Attempts without a 2xx response. */
  failed: number;
  /** Interruptions of hooks. */
  interrupted: number;
  /** Attempts that were refused because the target is not allowed. */
  blockedTargets: number;
}

/** Measures durations of chainhooks, for metrics. */
export interface HookTimers {
  /** Live hooks were evaluated on one step, and their deliveries queued. */
  evaluated(milliseconds: number): void;
  /** An attempt of a delivery ended, in success or failure. */
  attempted(milliseconds: number): void;
}

/** Measures nothing. */
export const untimedHooks: HookTimers = { evaluated() {}, attempted() {} };

/** Counters at zero. */
export const newCounters = (): HookCounters => ({
  evaluatedBlocks: 0,
  matches: 0,
  queued: 0,
  rollbacks: 0,
  delivered: 0,
  failed: 0,
  interrupted: 0,
  blockedTargets: 0,
});
