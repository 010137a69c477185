/** What the chainhooks did since the process began; for metrics. Every number only grows. */
export interface HookCounters {
  /** Blocks that live hooks were evaluated on. */
  evaluatedBlocks: number;
  /** Blocks that matched, one for each hook. */
  matches: number;
  /** Deliveries that were queued. */
  queued: number;
  /** Queued deliveries that take blocks back. */
  rollbacks: number;
  /** Attempts that were answered 2xx. */
  delivered: number;
  /** Attempts that failed: no 2xx response. */
  failed: number;
  /** Hooks that were interrupted. */
  interrupted: number;
  /** Attempts that were not made because the target may not be called. */
  blockedTargets: number;
}

/** Takes the durations of the hooks' work, for metrics. */
export interface HookTimers {
  /** Live hooks were evaluated on a block, or on those of a fork, and their deliveries queued. */
  evaluated(milliseconds: number): void;
  /** An attempt of a delivery ended, with success or without. */
  attempted(milliseconds: number): void;
}

/** Takes no durations. */
export const untimedHooks: HookTimers = { evaluated() {}, attempted() {} };

/** Counters at zero, as a process begins. */
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
