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
    help: 'Last entry of the log that the archive has, on the host that writes it',
    read: () => state().entry,
  });
  collectedGauge(registry, {
    name: 'stackside_archive_behind_entries',
    help: 'Entries of the log that the archive lacks',
    read: () => state().behind,
  });
  collectedGauge(registry, {
    name: 'stackside_archive_behind_seconds',
    help: 'Seconds since the archive last had every entry of the log; 0 while it has',
    read: () => state().seconds,
  });
  collectedCounter(registry, {
    name: 'stackside_archive_failures_total',
    help: 'Attempts to archive the log that failed',
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
    help: 'Seconds since a base of the archive has been due',
    read: () => state().overdue,
  });
}
