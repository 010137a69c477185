/** The process log: JSON lines on stderr, one per event. */
import pino from 'pino';
import type { StateEvent } from './api/server-state.ts';
import type { ArchiveEvent } from './archive/archiver.ts';
import type { BaseEvent } from './archive/base-writer.ts';
import type { FollowEvent } from './archive/follow.ts';
import { droppedBy, type LossyOutput, type LossyOutputs, lossyOutputs } from './base/lossy-output.ts';
import type { ClusterEvent } from './cluster/events.ts';
import type { ContractsEvent } from './devnet/clarity/network.ts';
import type { ObserverEvent } from './devnet/observer.ts';
import type { FaucetEvent } from './faucets/faucets.ts';
import type { HookEvent } from './hooks/log-event.ts';
import type { ApiEvent } from './http/errors.ts';
import type { RealtimeEvent } from './live/realtime.ts';
import type { FillEvent } from './node/fill.ts';
import type { HistoryStartEvent, StartingAccountEvent } from './node/history.ts';
import type { BroadcastEvent } from './node/proxy.ts';
import type { ReceiverEvent } from './node/receiver.ts';
import type { SnpEvent } from './node/snp/subscriber.ts';
import type { WalEvent } from './store/files/checkpointer.ts';
import type { IngestEvent } from './store/ingest/ingest.ts';
import type { ValueIndexEvent } from './store/ingest/value-indexes.ts';
import type { SnapshotEvent } from './store/read/snapshots.ts';
import type { TokenLogEvent } from './tokens/asker.ts';

type ServerEvent =
  | { event: 'proxy_not_trusted'; address: string }
  | { event: 'old_names_imported'; rows: number }
  | { event: 'old_names_failed'; cause: unknown }
  /** Another running host of the cluster has the same name as this host. */
  | { event: 'host_name_shared'; name: string; remedy: string }
  /** `seconds`: lead of this host's clock over PostgreSQL's clock; negative if it is behind. */
  | { event: 'host_clock_differs'; seconds: number; remedy: string }
  | { event: 'data_dir_permissions'; paths: readonly string[]; remedy: string }
  /** `serve --from`: the restore of the data directory from the archive at `place` started. */
  | { event: 'restore_begun'; place: string; chain: string }
  | { event: 'restore_progress'; entry: number; of: number; height: number; left: string }
  | { event: 'restore_base_loading'; entry: number; of: number; part: number; parts: number }
  | { event: 'restore_base_skipped'; place: string; name: string; reason: string }
  | { event: 'restored'; place: string; entry: number; height: number }
  | { event: 'archive_unsigned'; place: string; problem: string }
  | { event: 'archive_open_part_missing'; place: string; name: string; entry: number }
  /** Other machines may be able to reach the event port, which accepts events from any client. */
  | { event: 'event_port_open'; host: string; remedy: string }
  /** A demo uses a free port because another program uses the default port. */
  | { event: 'port_in_use'; port: number; flag: string }
  /** The node's configuration doesn't make the node post all required events to this server. */
  | { event: 'node_config_wrong'; problem: string; remedy: string; observer: string }
  /** `settings` contains the settings that differ from their defaults. */
  | { event: 'started'; version: string; mode: string; data: string; settings: Readonly<Record<string, unknown>> }
  /** `reason` explains why the variable has no effect. */
  | { event: 'variable_ignored'; variable: string; reason: string }
  | { event: 'stopping'; signal: string }
  /** The server restarts to replace the index by a new one. */
  | { event: 'new_index_ready' }
  /** The server could not restart because of the disk, and will try again. */
  | { event: 'start_failed'; cause: unknown }
  /** Number of dropped lines: log, ready line and banner. */
  | { event: 'log_lines_dropped'; lines: number }
  /** This cluster host stopped because of an error that only the operator can resolve. */
  | { event: 'host_ended'; problem: string; remedy: string }
  | { event: 'crashed'; cause: unknown };

export type LogEvent =
  | IngestEvent
  | ClusterEvent
  | SnapshotEvent
  | WalEvent
  | ArchiveEvent
  | BaseEvent
  | ValueIndexEvent
  | ReceiverEvent
  | SnpEvent
  | BroadcastEvent
  | FillEvent
  | HistoryStartEvent
  | StartingAccountEvent
  | TokenLogEvent
  | RealtimeEvent
  | FaucetEvent
  | HookEvent
  | ApiEvent
  | ContractsEvent
  | ObserverEvent
  | StateEvent
  | FollowEvent
  | ServerEvent;

export const levels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type Level = (typeof levels)[number];

/** Level of each event. An event without a level doesn't compile. docs/logs.md explains the events. */
export const levelOf: Record<LogEvent['event'], Exclude<Level, 'silent'>> = {
  started: 'info',
  event_port_open: 'warn',
  port_in_use: 'warn',
  node_config_wrong: 'warn',
  state_changed: 'info',
  state_degraded: 'warn',
  contracts_deployed: 'info',
  contracts_refused: 'error',
  observer_refuses: 'error',
  variable_ignored: 'warn',
  old_names_imported: 'info',
  proxy_not_trusted: 'warn',
  old_names_failed: 'error',
  host_name_shared: 'warn',
  host_clock_differs: 'warn',
  data_dir_permissions: 'warn',
  stopping: 'info',
  log_lines_dropped: 'error',
  crashed: 'error',
  host_ended: 'error',
  log_reached: 'info',
  log_unavailable: 'error',
  log_followed: 'debug',
  log_conflict: 'debug',
  log_restored: 'warn',
  log_filled: 'warn',
  log_corrupt: 'error',
  delivery_lease_gained: 'info',
  delivery_lease_lost: 'warn',
  delivery_lease_unavailable: 'error',
  block_applied: 'info',
  block_reverted: 'warn',
  mempool_transaction_skipped: 'warn',
  drop_reason_unknown: 'warn',
  stacking_print_unread: 'warn',
  unknown_kind: 'error',
  index_replaced: 'info',
  new_index_refused: 'warn',
  new_index_ready: 'info',
  start_failed: 'error',
  secondary_index_begun: 'info',
  journal_replayed: 'info',
  archive_failing: 'error',
  archive_resumed: 'info',
  archive_unsigned: 'warn',
  archive_open_part_missing: 'warn',
  restore_begun: 'info',
  restore_progress: 'info',
  restore_base_loading: 'info',
  restore_base_skipped: 'warn',
  restored: 'info',
  archive_followed: 'info',
  archive_not_followed: 'warn',
  archive_base_made: 'info',
  archive_base_failing: 'error',
  archive_bases_removed: 'info',
  writes_failing: 'error',
  writes_resumed: 'info',
  value_index_complete: 'info',
  value_index_removed: 'info',
  value_index_failed: 'error',
  index_unavailable: 'error',
  index_reopened: 'info',
  read_timed_out: 'warn',
  wal_not_truncated: 'warn',
  event_accepted: 'debug',
  event_rejected: 'error',
  event_failed: 'error',
  blocks_missing: 'error',
  gap_filling: 'info',
  gap_filled: 'info',
  gap_not_filled: 'error',
  history_starting: 'info',
  history_starts_with_node: 'warn',
  accounts_not_asked: 'warn',
  token_lookups_paused: 'warn',
  token_not_read: 'debug',
  snp_handshake: 'info',
  snp_failing: 'error',
  snp_resumed: 'info',
  snp_gap: 'warn',
  snp_message_skipped: 'warn',
  snp_rounded: 'warn',
  faucet_sent: 'info',
  faucet_failed: 'warn',
  changes_missed: 'warn',
  realtime_failed: 'error',
  client_message_refused: 'debug',
  extra_broadcast_failed: 'warn',
  request_failed: 'error',
  store_unavailable: 'error',
  hook_interrupted: 'error',
  hook_payload_failed: 'error',
  hook_cursor_lost: 'warn',
  hook_delivery_failed: 'warn',
  hook_alert_failed: 'warn',
  hook_backfill_failed: 'error',
  hook_access_open: 'warn',
  hook_secrets_unreadable: 'error',
  hook_key_unusable: 'warn',
  hook_keys_refused: 'warn',
  hook_task_failed: 'error',
};

export type Log = (event: LogEvent) => void;

/** Reports whether an event is logged. @param least the minimum level to log */
export const isLogged = (event: LogEvent['event'], least: Level): boolean =>
  levels.indexOf(levelOf[event]) >= levels.indexOf(least);

/**
 * Creates the log of the process, which never throws: lines that can't be written are dropped.
 * @param level the minimum level to write
 */
export function createLog(level: Level, output: LossyOutput = lossyOutputs.stderr): Log {
  const logger = pino(
    {
      level,
      base: null,
      serializers: { cause: (cause) => (cause instanceof Error ? (cause.stack ?? String(cause)) : cause) },
    },
    { write: (line: string) => output.write(line) },
  );
  return ({ event, ...fields }) => logger[levelOf[event]](fields, event);
}

/** Logs the number of dropped lines before the first line that can be written again. */
export function reportingDropped(log: Log, outputs: LossyOutputs): Log {
  let reported = 0;
  return (event) => {
    log(event);
    const lines = droppedBy(outputs) - reported;
    if (lines === 0 || !outputs.stderr.works) return;
    const before = droppedBy(outputs);
    log({ event: 'log_lines_dropped', lines });
    // A partly written line is completed later, and not repeated.
    if (droppedBy(outputs) === before) reported += lines;
  };
}
