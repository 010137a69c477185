/** Metrics of a host that shares a log with others. */
import { Counter, Histogram, type Registry } from 'prom-client';
import type { ClusterMetrics, ClusterState, LeaseStatus, VerificationState } from '../cluster/events.ts';
import { collectedCounter, collectedGauge } from './collected.ts';

/** Registers the metrics of the shared log. @param name of this host @param state reads the host's state */
export function clusterMetrics(registry: Registry, name: string, state: () => ClusterState): ClusterMetrics {
  const gauge = (metric: string, help: string, read: (of: ClusterState) => number) =>
    collectedGauge(registry, { name: metric, help, read: () => read(state()) });
  collectedGauge(registry, {
    name: 'stackside_host_info',
    help: '1, with the name of this host of the cluster',
    labelNames: ['host'],
    read: () => [[{ host: name }, 1]],
  });
  gauge('stackside_log_position', "Last entry of the cluster's log that this host applied", ({ position }) => position);
  gauge('stackside_log_head', "Newest entry of the cluster's log that this host has seen", ({ position, head }) =>
    Math.max(position, head ?? 0),
  );
  gauge(
    'stackside_log_lag_seconds',
    "Seconds since this host last had all entries of the cluster's log; 0 if it has them",
    ({ lagSeconds }) => lagSeconds,
  );
  gauge(
    'stackside_log_reachable',
    "1 if the last request to the cluster's log succeeded, otherwise 0",
    ({ reachable }) => (reachable ? 1 : 0),
  );
  collectedCounter(registry, {
    name: 'stackside_log_conflicts_total',
    help: 'Events of this host that collided with an entry of another host in the log',
    read: () => state().conflicts,
  });
  collectedCounter(registry, {
    name: 'stackside_log_restored_entries_total',
    help: 'Entries lost at the end of the log that this host restored',
    read: () => state().healed,
  });
  const append = new Histogram({
    name: 'stackside_log_append_seconds',
    help: "Time to append a batch of this host's entries to the cluster's log, in seconds",
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers: [registry],
  });
  const appended = new Counter({
    name: 'stackside_log_appended_entries_total',
    help: "Entries of this host that the cluster's log has accepted",
    registers: [registry],
  });
  return {
    appended(seconds, entries) {
      append.observe(seconds);
      appended.inc(entries);
    },
  };
}

/** Registers the metrics of the lease to deliver chainhooks. @param status reads the lease's status */
export function leaseMetrics(registry: Registry, status: () => LeaseStatus): void {
  collectedGauge(registry, {
    name: 'stackside_delivery_lease_held',
    help: '1 if this host delivers chainhooks, otherwise 0',
    read: () => (status().isHeld ? 1 : 0),
  });
  collectedGauge(registry, {
    name: 'stackside_delivery_lease_epoch',
    help: 'Number of times that a host got the lease to deliver chainhooks, according to this host',
    read: () => status().epoch ?? 0,
  });
  collectedGauge(registry, {
    name: 'stackside_delivery_lease_info',
    help: '1, with the name of the host that delivers chainhooks, according to this host',
    labelNames: ['holder'],
    read: () => {
      const { holder } = status();
      return holder === null ? [] : [[{ holder }, 1]];
    },
  });
  collectedCounter(registry, {
    name: 'stackside_delivery_lease_changes_total',
    help: 'Number of times that this host started or stopped delivering chainhooks',
    read: () => status().changes,
  });
}

/** Registers the metrics of the log's verification. @param state reads its results */
export function verificationMetrics(registry: Registry, state: () => VerificationState): void {
  collectedGauge(registry, {
    name: 'stackside_log_verified_entry',
    help: "Last entry of the cluster's log that this host has verified since it delivers chainhooks",
    read: () => state().verified,
  });
  collectedGauge(registry, {
    name: 'stackside_log_corrupt_entries',
    help: "Entries of the cluster's log that this host found missing or damaged; should stay 0",
    read: () => state().unsound,
  });
  collectedCounter(registry, {
    name: 'stackside_log_filled_entries_total',
    help: "Entries missing in the middle of the cluster's log that this host restored",
    read: () => state().filled,
  });
}
