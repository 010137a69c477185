/** Forgets what is old: bodies and rows of what was delivered, and what stands too deep in the chain to leave it. */
import type { HookStore } from '../store/hooks/store.ts';
import { type HookLog, logTaskFailure } from './log-event.ts';

const EVERY_MS = 60_000;
/** Rows a run takes at most, so that it stays short. */
const BATCH = 2_000;
/** Bodies of delivered ones that a hook keeps. */
const MOST_BODIES = 10_000;
/** The log outlives the bodies so many times. */
const LOG_LASTS = 4;
/** Bitcoin blocks below the tip that a reorganization is still told of. */
const REORG_WINDOW = 150;

export interface Maintenance {
  start(): void;
  stop(): void;
  /** Once, now. */
  run(): void;
}

interface MaintenanceOptions {
  store: HookStore;
  write: <T>(change: () => T) => T;
  retentionMs: number;
  log: HookLog;
  now: () => number;
}

export function maintenance({ store, write, retentionMs, log, now }: MaintenanceOptions): Maintenance {
  const { deliveries, ledger, records, candidates } = store;
  let timer: ReturnType<typeof setInterval> | undefined;

  function run(): void {
    try {
      write(() => {
        deliveries.forgetBodies(now() - retentionMs, BATCH);
        deliveries.forgetRows(now() - LOG_LASTS * retentionMs, BATCH);
        for (const id of records.withLongLog(MOST_BODIES)) deliveries.keepBodies(id, MOST_BODIES);
        ledger.forgetBelow(candidates.tipBurnHeight() - REORG_WINDOW, BATCH);
        records.forgetDeleted(now() - LOG_LASTS * retentionMs);
      });
    } catch (error) {
      logTaskFailure(log, error);
    }
  }

  return {
    run,
    start() {
      timer = setInterval(run, EVERY_MS);
      timer.unref?.();
    },
    stop() {
      clearInterval(timer);
    },
  };
}
