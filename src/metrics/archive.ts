/** Metrics of the archive of the log. */
import type { Registry } from 'prom-client';
import { collectedCounter, collectedGauge } from './collected.ts';

/** The state of the archive, as the host that writes it knows it; all but the failures are 0 on any other host. */
export interface ArchiveState {
  /** The last entry that the archive has. */
  entry: number;
  /** Entries that it lacks, and the seconds since it had every entry; 0 where it lacks none. */
  behind: number;
  seconds: number;
  /** Rounds that failed. */
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
