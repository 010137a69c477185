/** Metrics of a host that shares a log with others. */
import { Histogram, type Registry } from 'prom-client';
import type { ClusterMetrics, ClusterState, LeaseStatus, VerificationState } from '../cluster/events.ts';
import { collected } from './collected.ts';

/** Registers the metrics of the shared log. @param name of this host @param state reads the host's state */
export function clusterMetrics(registry: Registry, name: string, state: () => ClusterState): ClusterMetrics {
  collected(registry, {
    stackside_host_info: ['1, with the name of this host of the cluster', () => [[{ host: name }, 1]], 'host'],
    stackside_log_position: ["Last entry of the cluster's log that this host applied", () => state().position],
    stackside_log_head: [
      "Newest entry of the cluster's log that this host has seen",
      () => Math.max(state().position, state().head ?? 0),
    ],
    stackside_log_lag_seconds: [
      "Seconds since this host last had all entries of the cluster's log; 0 if it has them",
      () => state().lagSeconds,
    ],
    stackside_log_reachable: [
      "1 if the cluster's log answers and accepts writes, otherwise 0",
      () => (state().reachable ? 1 : 0),
    ],
    stackside_log_conflicts_total: [
      'Events of this host that collided with an entry of another host in the log',
      () => state().conflicts,
    ],
    stackside_log_restored_entries_total: [
      'Entries lost at the end of the log that this host restored',
      () => state().healed,
    ],
  });
  const append = new Histogram({
    name: 'stackside_log_append_seconds',
    help: "Time to append a batch of this host's entries to the cluster's log, in seconds",
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers: [registry],
  });
  return { appended: (seconds) => append.observe(seconds) };
}

/** Registers the metrics of the lease to deliver chainhooks. @param status reads the lease's status */
export function leaseMetrics(registry: Registry, status: () => LeaseStatus): void {
  collected(registry, {
    stackside_delivery_lease_held: ['1 if this host delivers chainhooks, otherwise 0', () => (status().isHeld ? 1 : 0)],
    stackside_delivery_lease_info: [
      '1, with the name of the host that delivers chainhooks, according to this host',
      () => {
        const { holder } = status();
        return holder === null ? [] : [[{ holder }, 1]];
      },
      'holder',
    ],
  });
}

/** Registers the metric of the log's verification. @param state reads its results */
export function verificationMetrics(registry: Registry, state: () => VerificationState): void {
  collected(registry, {
    stackside_log_corrupt_entries: [
      "Entries of the cluster's log that this host found missing or damaged; should stay 0",
      () => state().corrupt,
    ],
  });
}
