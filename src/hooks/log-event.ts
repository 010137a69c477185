/** What chainhooks log about their work. A URL is logged by its host alone: users put secrets into the rest. */
import { StoreUnavailableError } from '../store/files/store-failure.ts';
import { LogUnavailableError } from '../store/log/shared-log.ts';

export type HookEvent =
  | { event: 'hook_interrupted'; uuid: string; name: string; reason: string }
  | { event: 'hook_expired'; uuid: string; name: string }
  | { event: 'hook_payload_failed'; uuid: string; cause: unknown }
  | { event: 'hook_cursor_lost'; height: number }
  | { event: 'hook_delivery_failed'; uuid: string; webhook_id: string; host: string; attempt: number; reason: string }
  | { event: 'hook_delivery_skipped'; uuid: string; webhook_id: string }
  | { event: 'hook_alert_failed'; uuid: string; host: string; reason: string }
  | { event: 'hook_backfill_failed'; uuid: string; backfill: string; cause: unknown }
  | { event: 'hook_access_open' }
  /** Deliveries of the consumers wait; `consumers` names the first of `count`. */
  | { event: 'hook_secrets_unreadable'; count: number; consumers: readonly string[] }
  /** Without the key, no secret can be made or opened. */
  | { event: 'hook_key_unusable'; problem: string; remedy: string }
  | { event: 'hook_keys_refused'; count: number; address: string }
  | { event: 'hook_task_failed'; cause: unknown };

/** Takes what chainhooks say. */
export type HookLog = (event: HookEvent) => void;

/** Says that something failed that is tried again; not of a store or log that is away, which said it themselves. */
export function logTaskFailure(log: HookLog, cause: unknown): void {
  if (!(cause instanceof StoreUnavailableError || cause instanceof LogUnavailableError))
    log({ event: 'hook_task_failed', cause });
}
