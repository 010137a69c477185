/** The process log: JSON lines on stderr, one per event. */
import pino from 'pino';
import type { StateEvent } from './api/server-state.ts';
import type { BaseEvent } from './archive/base-writer.ts';
import type { FollowEvent } from './archive/restore.ts';
import type { ServiceEvent, ServiceName, SetupEvent, UnexpectedEvent } from './base/log-events.ts';
import { droppedBy, type LossyOutput, type LossyOutputs, lossyOutputs } from './base/lossy-output.ts';
import type { ClusterEvent } from './cluster/events.ts';
import type { ContractsEvent } from './devnet/clarity/network.ts';
import type { ObserverEvent } from './devnet/observer.ts';
import type { FaucetEvent } from './faucets/faucets.ts';
import type { HookEvent } from './hooks/log-event.ts';
import type { ApiEvent } from './http/errors.ts';
import type { RealtimeEvent } from './live/realtime.ts';
import type { FillEvent } from './node/fill.ts';
import type { HistoryStartEvent } from './node/history.ts';
import type { BroadcastEvent } from './node/proxy.ts';
import type { ReceiverEvent } from './node/receiver.ts';
import type { SnpEvent } from './node/snp/subscriber.ts';
import type { WalEvent } from './store/files/checkpointer.ts';
import type { IngestEvent } from './store/ingest/ingest.ts';
import type { ValueIndexEvent } from './store/ingest/value-indexes.ts';
import type { SnapshotEvent } from './store/read/snapshots.ts';
import type { TokenLogEvent } from './tokens/metadata-fetcher.ts';

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
  /** A devnet uses a free port because another program uses the default port. */
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

/** Level of each event. An event without a level doesn't compile. */
export const levelOf: Record<LogEvent['event'], Exclude<Level, 'silent'>> = {
  started: 'info',
  setup_warning: 'warn',
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

/** Meaning and remedy of each event, by the part of the program that logs it. docs/logs.md contains them as tables. */
export const eventMeanings = {
  Server: {
    started: 'the server listens; `settings` contains those that differ from the defaults',
    stopping: 'a signal arrived; the server finishes its work',
    state_changed: 'the server is live, or entered a state that passes by itself',
    state_degraded: 'you must act: see `reason` and `next`',
    host_ended: 'the server ended with exit code 1, see `problem` and `remedy`',
    crashed: 'a bug in Stackside; restart it, acknowledged events are safe',
    setup_warning: 'a setting, file or clock is wrong: see `problem` and `remedy`',
    service_failing: '`service` fails for `reason`, and tries again: see [Services](#services)',
    service_resumed: '`service` works again',
    unexpected_error: 'a bug in Stackside: a request got 500, a message was not sent, or `part` stopped work',
    start_failed: 'the disk prevents a restart with a new index; retried every second',
    port_in_use: '`devnet` uses another port, because the default is in use',
    log_lines_dropped: '`lines` log lines were lost; the log works again',
    old_names_imported: 'the names of `--bns-import` were imported',
    old_names_failed: "the names of `--bns-import` couldn't be imported",
  },
  'Events and blocks': {
    block_applied: 'the chain grew by a block',
    block_reverted: 'a fork replaced a block; nothing to do',
    event_accepted: 'an event was acknowledged; `outcome` is `applied` or `repeated`',
    event_rejected: "Stackside can't parse an event; `reason` names the field. Install a newer version",
    event_failed: "an event couldn't be applied; the node sends it again",
    unknown_kind: 'the node is newer: upgrade, then run `stackside rebuild`',
    history_starting:
      'the history starts at `from_height`, or at the next block of the node; see `reason` and `remedy`',
    node_data_unread: 'a pending transaction, drop reason or stacking print is unsupported; check for a newer version',
    blocks_missing: 'blocks are missing: see [node.md](node.md#fill-missing-blocks)',
    gap_filling: 'the server fetches missing blocks up to `to_height`',
    gap_filled: 'the missing blocks are filled',
    token_not_read: 'a token breaks a standard, or ten attempts failed',
    extra_broadcast_failed: 'an endpoint of `--extra-tx-endpoints` failed; the node has the transaction',
    snp_handshake: 'Stackside requested a stream from stacks-node-publisher',
    snp_gap: 'message numbers are missing; if a block is missing, the next one waits',
    snp_message_skipped: 'a message was skipped; `remedy` names the missing changes',
    snp_rounded: 'the publisher rounded numbers in `fields`',
  },
  'Disk and index': {
    journal_replayed: 'the index applied events that only the journal had',
    index_reopened: 'the index file was replaced; requests read the new one',
    store_unavailable: "a request couldn't read the index and got 503",
    read_timed_out: 'a request read for 30 seconds and got 503',
    wal_not_truncated: 'a backup, check or other reader keeps a write-ahead log above 64 MB',
    new_index: 'a rebuilt index is `ready` (the server restarts), `used`, `newer`, or `unfit` and deleted',
    value_index_changed: 'an index of `--log-index` or `--call-index` is complete, or was deleted',
    secondary_index_begun: 'an interrupted import left out an index; the server waits for it',
  },
  Archive: {
    archive_base_made: 'the archive has a new base',
    archive_bases_removed: '`--archive-keep` deleted old bases',
    restore_begun: '`--from` restores the empty directory; a restart continues it',
    restore_progress: 'entry `entry` of `of` is restored; `left` is the remaining time',
    restore_base_skipped: "a base isn't used; the restore starts with an earlier one",
    restored: 'the directory has the archive up to `entry`',
    archive_followed: "`--from`: the archive added blocks that the node didn't send",
    archive_open_part_missing: "the archive's last entries are missing; the node may have them",
  },
  Cluster: {
    log_followed: 'entries of other hosts were applied',
    log_conflict: "an event met another host's entry and is checked again",
    log_restored: 'the log lost entries; this host restored them',
    delivery_lease_changed: 'this host delivers chainhooks from now on, or no longer if not `held`',
    log_corrupt: 'entries are missing or damaged: see `remedy`',
  },
  'API, realtime and devnet': {
    changes_missed: 'too many changes at once; subscribers missed some messages',
    client_message_refused: 'a client broke the protocol and was disconnected',
    faucet_sent: 'a faucet sent `currency` to `address`',
    faucet_failed: "a faucet couldn't send",
    contracts_deployed: '`devnet --watch`: contracts were deployed again; later transactions were mined again',
    contracts_refused: '`devnet --watch`: a file has an error; the old contracts keep running',
    observer_refuses: '`devnet --observer`: the other server rejects an event, which is retried',
  },
  Chainhooks: {
    hook_interrupted: 'the receiver failed too long or answered 410; repair and enable it',
    hook_delivery_failed: 'a delivery failed and will be retried',
    hook_alert_failed: "`--hook-alert` or a chainhook's `alert_url` didn't accept an alert, which isn't sent again",
    hook_backfill_failed: 'a backfill ended early',
    hook_cursor_lost: 'chainhooks continue at the same height, for example after `rebuild --force`',
    hook_secrets_unreadable: '`count` consumers get nothing: their secrets need another `secrets.key`',
    hook_key_unusable: "secrets can't be made or read: fix the key and restart",
    hook_keys_refused: '`count` requests had wrong API keys, the last from `address`',
  },
} satisfies Record<string, Partial<Record<LogEvent['event'], string>>>;

/** Meaning and remedy of `service_failing` for each service. */
export const serviceMeanings: Readonly<Record<ServiceName, string>> = {
  writes: 'free space or repair the disk; the node repeats its events, and nothing is lost',
  index: 'the index is missing, damaged or of another version; requests get 503',
  archive: "entries can't be sent to `place`",
  bases: "a base can't be made at `place`",
  following: "`--from`: the archive at `place` can't be read",
  snp: 'no events arrive from stacks-node-publisher: see `remedy`',
  gap_filling: "missing blocks can't be filled; retried while the node sends its block",
  starting_accounts: "the node doesn't return accounts; their balances are unknown until it does",
  token_metadata: "the node, the index or the log doesn't answer",
  shared_log: "PostgreSQL doesn't answer; reads continue, and the node repeats its events",
  delivery_lease: "PostgreSQL can't grant the lease, for example for lack of rights",
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
