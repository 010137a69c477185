/** Log events and counters of chainhooks. Only the host of a URL is logged, since users put secrets into the rest. */
import type { UnexpectedEvent } from '../base/log-events.ts';
import { StoreUnavailableError } from '../base/system-errors.ts';
import { LogUnavailableError } from '../cluster/shared-log.ts';

/** Counters of chainhooks since the process began, for metrics, at zero. */
export const newCounters = () => ({
  /** Number of blocks that live hooks were evaluated on. */
  evaluatedBlocks: 0,
  /** Blocks that matched, counted once per hook. */
  matches: 0,
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

export interface HookTimers {
  /** Live hooks were evaluated on one step, and their deliveries queued. */
  evaluated(milliseconds: number): void;
  /** An attempt of a delivery ended, in success or failure. */
  attempted(milliseconds: number): void;
}

export const untimedHooks: HookTimers = { evaluated() {}, attempted() {} };

export type HookEvent =
  | { event: 'hook_interrupted'; uuid: string; name: string; reason: string }
  | { event: 'hook_cursor_lost'; height: number }
  | { event: 'hook_delivery_failed'; uuid: string; webhook_id: string; host: string; attempt: number; reason: string }
  | { event: 'hook_alert_failed'; uuid: string; host: string; reason: string }
  | { event: 'hook_backfill_failed'; uuid: string; backfill: string; cause: unknown }
  /** Deliveries of `count` consumers wait; `consumers` names the first ones. */
  | { event: 'hook_secrets_unreadable'; count: number; consumers: readonly string[] }
  /** Without the key, secrets can be neither made nor opened. */
  | { event: 'hook_key_unusable'; problem: string; remedy: string }
  | { event: 'hook_keys_refused'; count: number; address: string }
  /** The start made a key that the data directory lacked. */
  | { event: 'key_created'; file: string }
  | UnexpectedEvent;

export type HookLog = (event: HookEvent) => void;

/** Logs a failure of a task that is tried again, except an unavailable store or log, which log that themselves. */
export function logTaskFailure(log: HookLog, cause: unknown): void {
  if (!(cause instanceof StoreUnavailableError || cause instanceof LogUnavailableError))
    log({ event: 'unexpected_error', part: 'chainhook', cause });
}
