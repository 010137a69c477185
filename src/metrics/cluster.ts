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
  gauge('stackside_log_position', "Entry of the cluster's log that this host applied last", ({ position }) => position);
  gauge('stackside_log_head', "Newest entry of the cluster's log, as far as this host knows", ({ position, head }) =>
    Math.max(position, head ?? 0),
  );
  gauge(
    'stackside_log_lag_seconds',
    "Seconds since this host was last known to have all entries of the cluster's log; 0 while it is",
    ({ lagSeconds }) => lagSeconds,
  );
  gauge(
    'stackside_log_reachable',
    "1 if the cluster's log answered when it was asked last, otherwise 0",
    ({ reachable }) => (reachable ? 1 : 0),
  );
  collectedCounter(registry, {
    name: 'stackside_log_conflicts_total',
    help: 'Events of this host that met an entry of another host in the log',
    read: () => state().conflicts,
  });
  collectedCounter(registry, {
    name: 'stackside_log_healed_entries_total',
    help: 'Entries that the log had lost and got back from this host',
    read: () => state().healed,
  });
  const append = new Histogram({
    name: 'stackside_log_append_seconds',
    help: "Time until the cluster's log had the entries of this host that waited together, in seconds",
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
    help: 'Number of times that the right to deliver chainhooks was given to a host, as far as this host knows',
    read: () => status().epoch ?? 0,
  });
  collectedGauge(registry, {
    name: 'stackside_delivery_lease_info',
    help: '1, with the name of the host that delivers chainhooks, as far as this host knows',
    labelNames: ['holder'],
    read: () => {
      const { holder } = status();
      return holder === null ? [] : [[{ holder }, 1]];
    },
  });
  collectedCounter(registry, {
    name: 'stackside_delivery_lease_changes_total',
    help: 'Times that this host began or ceased to deliver chainhooks',
    read: () => status().changes,
  });
}

/** Registers the metrics of the log's verification. @param state reads its results */
export function verificationMetrics(registry: Registry, state: () => VerificationState): void {
  collectedGauge(registry, {
    name: 'stackside_log_verified_entry',
    help: "Entry up to which this host has verified the cluster's log, since it delivers chainhooks",
    read: () => state().verified,
  });
  collectedGauge(registry, {
    name: 'stackside_log_unsound_entries',
    help: "Entries of the cluster's log that this host found missing or damaged",
    read: () => state().unsound,
  });
  collectedCounter(registry, {
    name: 'stackside_log_filled_entries_total',
    help: "Entries that were missing in the middle of the cluster's log, and that it has again from this host",
    read: () => state().filled,
  });
}
