/** Metrics of the archive of the log. */
import type { Registry } from 'prom-client';
import { collected } from './collected.ts';

/** The state of the archive on the host that writes it. On other hosts, all values except the failures are 0. */
export interface ArchiveState {
  /** Number of the last entry in the archive. */
  entry: number;
  /** Number of missing entries, and the seconds since no entry was missing; 0 if none is missing. */
  missingEntries: number;
  seconds: number;
  /** Number of failed uploads. */
  failures: number;
}

/** Registers the metrics. @param state reads the state */
export function archiveMetrics(registry: Registry, state: () => ArchiveState): void {
  collected(registry, {
    stackside_archive_entry: ['Last entry in the archive, on the host that writes the archive', () => state().entry],
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
  /** Entry and age in seconds of the newest base; 0 if there is none. */
  entry: number;
  seconds: number;
  /** Seconds since the next base was due. */
  overdue: number;
}

/** Registers the metrics of bases. @param state reads the state */
export function baseMetrics(registry: Registry, state: () => BaseState): void {
  collected(registry, {
    stackside_archive_base_entry: ['Entry of the newest base of the archive', () => state().entry],
    stackside_archive_base_seconds: ['Seconds since the newest base of the archive was made', () => state().seconds],
    stackside_archive_base_overdue_seconds: [
      'Seconds since the next base of the archive was due',
      () => state().overdue,
    ],
  });
}
