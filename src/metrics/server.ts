/** Metrics of the server: its state, its writes, its archive and its process. */
import { Gauge, type Registry } from 'prom-client';
import { droppedBy, type LossyOutputs } from '../base/lossy-output.ts';
import { storeFailures } from '../base/system-errors.ts';
import { unknownKinds } from '../chain/effect.ts';
import type { UnknownCounts } from '../store/ingest/event-router.ts';
import type { WriterHealth } from '../store/ingest/writer-health.ts';
import { collected } from './collected.ts';
import { openDescriptors, residentBytes } from './process-readings.ts';

export interface ServerState {
  /** The newest block, with its time in Unix seconds; null before the first block. */
  tip: { height: number; time: number } | null;
  burnBlockHeight: number;
  /** Height of the node; null if its RPC interface can't be reached. */
  nodeHeight: number | null;
  pending: ReadonlyMap<string, number>;
  /** Bytes of each file in the data directory, by name. */
  files: ReadonlyMap<string, number>;
}

/** Registers the gauges. @param now Unix milliseconds; null if the age of blocks means nothing @returns a function that sets them */
export function stateMetrics(registry: Registry, now: (() => number) | null): (state: ServerState) => void {
  const gauge = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const height = gauge('stacks_block_height', 'Height of the newest block');
  const burnHeight = gauge('burn_block_height', 'Height of the newest Bitcoin block that the node reported');
  const age = gauge(
    'stackside_tip_age_seconds',
    'Age of the newest block, in seconds; absent before the first block, and on a devnet',
  );
  // A new gauge without labels is 0: a block that is new.
  age.remove();
  const reached = gauge('stackside_node_reachable', "1 if the node's RPC interface can be reached, otherwise 0");
  const blocksBehind = gauge(
    'stackside_blocks_behind_node',
    "Blocks of the node that are missing in the index; absent if the node's RPC interface can't be reached",
  );
  const pendingCount = gauge('mempool_tx_count', 'Transactions in the mempool, by type', 'type');
  const bytes = gauge('stackside_file_bytes', 'Size of each file in the data directory, in bytes', 'file');
  return ({ tip, burnBlockHeight, nodeHeight, pending, files }) => {
    height.set(tip?.height ?? 0);
    burnHeight.set(burnBlockHeight);
    if (tip !== null && now !== null) age.set(Math.max(0, now() / 1000 - tip.time));
    reached.set(nodeHeight === null ? 0 : 1);
    if (nodeHeight === null) blocksBehind.remove();
    else blocksBehind.set(Math.max(0, nodeHeight - (tip?.height ?? 0)));
    pendingCount.reset();
    for (const [type, count] of pending) pendingCount.set({ type }, count);
    bytes.reset();
    for (const [file, size] of files) bytes.set({ file }, size);
  };
}

/** Registers the metrics of writes. */
export function storeMetrics(registry: Registry, health: WriterHealth, unknown: UnknownCounts): void {
  collected(registry, {
    stackside_unknown_kinds_total: [
      "Transactions, events, statuses and event paths that this version doesn't support; should stay 0",
      () => unknownKinds.map((what) => [{ what }, unknown[what]]),
      'what',
    ],
    stackside_store_failures_total: [
      'Failed writes by reason: a full disk, an I/O error, a lock that was held too long',
      () => storeFailures.map((reason) => [{ reason }, health.failures().get(reason) ?? 0]),
      'reason',
    ],
    stackside_store_writable: ['1 if the last write succeeded, otherwise 0', () => (health.failing() === null ? 1 : 0)],
  });
}

/** Registers the metrics of accounts that Stackside looks up at the node. @param counts read when metrics are collected */
export function accountMetrics(registry: Registry, counts: Readonly<{ fetched: number; waiting: number }>): void {
  collected(registry, {
    stackside_account_lookups_total: [
      'Partial history: accounts that were fetched from the node',
      () => counts.fetched,
    ],
    stackside_account_lookups_pending: ['Partial history: accounts that wait for the node', () => counts.waiting],
  });
}

const MICROSECONDS = 1e6;

/** Registers the metrics of CPU, memory and, on Linux, file descriptors. */
export function processMetrics(registry: Registry): void {
  collected(registry, {
    process_cpu_seconds_total: [
      'CPU time used by all threads, in seconds',
      () => {
        const { user, system } = process.cpuUsage();
        return (user + system) / MICROSECONDS;
      },
    ],
    process_resident_memory_bytes: ['Resident memory, in bytes', residentBytes],
  });
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'Start time of the process, in Unix seconds',
    registers: [registry],
  }).set(Date.now() / 1000 - process.uptime());
  if (process.platform !== 'linux') return;
  collected(registry, { process_open_fds: ['Open file descriptors: connections and files', openDescriptors] });
}

/** Registers the metric of dropped output. */
export function outputMetrics(registry: Registry, outputs: LossyOutputs): void {
  collected(registry, {
    stackside_log_lines_dropped_total: [
      "Lines that couldn't be written: log, ready line and terminal output",
      () => droppedBy(outputs),
    ],
  });
}

/** The state of the archive on the host that writes it. On other hosts, all values except the failures are 0. */
interface ArchiveState {
  /** Number of missing entries, and the seconds since no entry was missing; 0 if none is missing. */
  missingEntries: number;
  seconds: number;
  failures: number;
}

/** Registers the metrics. @param state reads the state */
export function archiveMetrics(registry: Registry, state: () => ArchiveState): void {
  collected(registry, {
    stackside_archive_behind_entries: [
      'Entries of the log that are missing in the archive',
      () => state().missingEntries,
    ],
    stackside_archive_behind_seconds: [
      'Seconds since the archive last contained every entry of the log; should stay below 60',
      () => state().seconds,
    ],
    stackside_archive_failures_total: ['Failed attempts to archive the log', () => state().failures],
  });
}

/** The bases of the archive on the host that makes them. On other hosts, all values are 0. */
export interface BaseState {
  /** Age in seconds of the newest base; 0 if there is none. */
  seconds: number;
  /** Seconds since the next base was due. */
  overdue: number;
}

/** Registers the metrics of bases. @param state reads the state */
export function baseMetrics(registry: Registry, state: () => BaseState): void {
  collected(registry, {
    stackside_archive_base_seconds: ['Seconds since the newest base of the archive was made', () => state().seconds],
    stackside_archive_base_overdue_seconds: [
      'Seconds since the next base of the archive was due',
      () => state().overdue,
    ],
  });
}
