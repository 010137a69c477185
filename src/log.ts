/** The process log: JSON lines on stderr, one per event. */
import pino from 'pino';
import type { StateEvent } from './api/server-state.ts';
import type { BaseEvent } from './archive/base-writer.ts';
import type { FollowEvent } from './archive/restore.ts';
import type { ServiceEvent, SetupEvent, UnexpectedEvent } from './base/log-events.ts';
import { droppedBy, type LossyOutput, type LossyOutputs, lossyOutputs } from './base/lossy-output.ts';
import type { ClusterEvent } from './cluster/events.ts';
import type { ContractsEvent } from './devnet/clarity/network.ts';
import type { ObserverEvent } from './devnet/node-event.ts';
import type { FaucetEvent } from './faucets/faucets.ts';
import type { HookEvent } from './hooks/reporting.ts';
import type { ApiEvent } from './http/errors.ts';
import type { RealtimeEvent } from './live/realtime.ts';
import type { FillEvent } from './node/fill.ts';
import type { HistoryStartEvent } from './node/history.ts';
import type { BroadcastEvent } from './node/proxy.ts';
import type { ReceiverEvent } from './node/receiver.ts';
import type { SnpEvent } from './node/snp/subscriber.ts';
import type { TokenLogEvent } from './node/token-metadata.ts';
import type { WalEvent } from './store/files/checkpointer.ts';
import type { IngestEvent } from './store/ingest/ingest.ts';
import type { ValueIndexEvent } from './store/ingest/value-indexes.ts';
import type { SnapshotEvent } from './store/read/snapshots.ts';

type ServerEvent =
  | { event: 'old_names_imported'; rows: number }
  | { event: 'old_names_failed'; cause: unknown }
  /** `serve --from`: the restore of the data directory from the archive at `place` started. */
  | { event: 'restore_begun'; place: string; chain: string }
  | { event: 'restore_progress'; entry: number; of: number; height: number; left: string }
  /** A base with entries up to `entry` is being loaded. */
  | { event: 'restore_progress'; entry: number; of: number; part: number; parts: number }
  | { event: 'restore_base_skipped'; place: string; name: string; reason: string }
  | { event: 'restored'; place: string; entry: number; height: number }
  | { event: 'archive_open_part_missing'; place: string; name: string; entry: number }
  | { event: 'port_in_use'; port: number; flag: string }
  /** `settings` contains the settings that differ from their defaults. */
  | { event: 'started'; version: string; mode: string; data: string; settings: Readonly<Record<string, unknown>> }
  | { event: 'stopping'; signal: string }
  /** The server restarts to replace the index by a new one. */
  | { event: 'new_index'; outcome: 'ready' }
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
  | ServiceEvent
  | SetupEvent
  | UnexpectedEvent
  | BaseEvent
  | ValueIndexEvent
  | ReceiverEvent
  | SnpEvent
  | BroadcastEvent
  | FillEvent
  | HistoryStartEvent
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

/** Level of each event. An event without a level doesn't compile. docs/logs.md explains each event. */
export const levelOf: Record<LogEvent['event'], Exclude<Level, 'silent'>> = {
  started: 'info',
  setup_warning: 'warn',
  key_created: 'info',
  service_failing: 'error',
  service_resumed: 'info',
  unexpected_error: 'error',
  new_index: 'info',
  node_data_unread: 'warn',
  value_index_changed: 'info',
  delivery_lease_changed: 'info',
  port_in_use: 'warn',
  state_changed: 'info',
  state_degraded: 'warn',
  deployment_started: 'debug',
  contracts_deployed: 'info',
  contracts_refused: 'error',
  observer_refuses: 'error',
  old_names_imported: 'info',
  old_names_failed: 'error',
  stopping: 'info',
  log_lines_dropped: 'error',
  crashed: 'error',
  host_ended: 'error',
  log_followed: 'debug',
  log_conflict: 'debug',
  log_restored: 'warn',
  log_corrupt: 'error',
  block_applied: 'info',
  block_reverted: 'warn',
  unknown_kind: 'error',
  start_failed: 'error',
  secondary_index_begun: 'info',
  replay_begun: 'info',
  replay_progress: 'info',
  journal_replayed: 'info',
  archive_open_part_missing: 'warn',
  restore_begun: 'info',
  restore_progress: 'info',
  restore_base_skipped: 'warn',
  restored: 'info',
  archive_followed: 'info',
  archive_base_made: 'info',
  archive_bases_removed: 'info',
  index_reopened: 'info',
  read_timed_out: 'warn',
  wal_not_truncated: 'warn',
  event_accepted: 'debug',
  event_rejected: 'error',
  event_failed: 'error',
  blocks_missing: 'error',
  gap_filling: 'info',
  gap_filled: 'info',
  history_starting: 'info',
  token_not_read: 'debug',
  snp_handshake: 'info',
  snp_gap: 'warn',
  snp_message_skipped: 'warn',
  snp_rounded: 'warn',
  faucet_sent: 'info',
  faucet_failed: 'warn',
  changes_missed: 'warn',
  client_message_refused: 'debug',
  extra_broadcast_failed: 'warn',
  store_unavailable: 'error',
  hook_interrupted: 'error',
  hook_cursor_lost: 'warn',
  hook_delivery_failed: 'warn',
  hook_alert_failed: 'warn',
  hook_backfill_failed: 'error',
  hook_secrets_unreadable: 'error',
  hook_key_unusable: 'warn',
  hook_keys_refused: 'warn',
};

export type Log = (event: LogEvent) => void;

/** Reports whether an event is logged. @param minLevel the minimum level to log */
export const isLogged = (event: LogEvent['event'], minLevel: Level): boolean =>
  levels.indexOf(levelOf[event]) >= levels.indexOf(minLevel);

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
    const dropped = droppedBy(outputs);
    log({ event: 'log_lines_dropped', lines });
    // A partly written line is completed later, and not repeated.
    if (droppedBy(outputs) === dropped) reported += lines;
  };
}
