/** Metrics of the archive of the log. */
import type { Registry } from 'prom-client';
import { collectedCounter, collectedGauge } from './collected.ts';

/** The state of the archive on the host that writes it. On other hosts, all values except the failures are 0. */
export interface ArchiveState {
  /** Number of the last entry in the archive. */
  entry: number;
  /** Number of missing entries, and the seconds since no entry was missing; 0 if none is missing. */
  behind: number;
  seconds: number;
  /** Number of failed uploads. */
  failures: number;
}

/** Registers the metrics. @param state reads the state */
export function archiveMetrics(registry: Registry, state: () => ArchiveState): void {
  collectedGauge(registry, {
    name: 'stackside_archive_entry',
    help: 'Last entry in the archive, on the host that writes the archive',
    read: () => state().entry,
  });
  collectedGauge(registry, {
    name: 'stackside_archive_behind_entries',
    help: 'Entries of the log that are missing in the archive',
    read: () => state().behind,
  });
  collectedGauge(registry, {
    name: 'stackside_archive_behind_seconds',
    help: 'Seconds since the archive last contained every entry of the log; should stay below 60',
    read: () => state().seconds,
  });
  collectedCounter(registry, {
    name: 'stackside_archive_failures_total',
    help: 'Failed attempts to archive the log',
    read: () => state().failures,
  });
}

/** The bases of the archive on the host that makes them. On other hosts, all values are 0. */
export interface BaseState {
  /** Entry and age in seconds of the newest base; 0 if there is none. */
  entry: number;
  seconds: number;
  /** Seconds since the next base was due. */
  overdue: number;
}

/** Registers the metrics of bases. @param state reads the state */
export function baseMetrics(registry: Registry, state: () => BaseState): void {
  collectedGauge(registry, {
    name: 'stackside_archive_base_entry',
    help: 'Entry of the newest base of the archive',
    read: () => state().entry,
  });
  collectedGauge(registry, {
    name: 'stackside_archive_base_seconds',
    help: 'Seconds since the newest base of the archive was made',
    read: () => state().seconds,
  });
  collectedGauge(registry, {
    name: 'stackside_archive_base_overdue_seconds',
    help: 'Seconds since the next base of the archive was due',
    read: () => state().overdue,
  });
}
