/** The state of a cluster in JSON, as the command and the API show it. */
import type { ClusterLog, HostsState } from '../../api/stackside/hosts.ts';
import type { ClusterState, LeaseStanding } from '../../cluster/events.ts';
import { hostOf } from '../../cluster/lease-keeper.ts';
import { toHex } from '../../codec/hex.ts';
import type { ClusterStatus } from '../../store/log/cluster-status.ts';

/** A log with its hosts. */
export const clusterLogJson = ({ chainId, head, bytes, hosts, leases, engine }: ClusterStatus): ClusterLog => ({
  chain_id: chainId,
  head: { entry: head.id, chain: toHex(head.chain) },
  log_bytes: bytes,
  hosts: hosts.map(({ name, entry, version, seconds, lagSeconds }) => ({
    name,
    entry,
    behind: Math.max(0, head.id - entry),
    lag_seconds: lagSeconds,
    version,
    seen_seconds_ago: seconds,
  })),
  leases: leases.map(({ name, holder, epoch, seconds }) => ({
    ...{ name, holder: hostOf(holder), epoch, seconds_left: seconds },
  })),
  engine: {
    server: engine.server,
    version: engine.version,
    synchronous_standby_names: engine.synchronous,
    standbys: engine.standbys,
  },
  warnings: engine.warnings,
});

/** What `stackside cluster status` prints: the log, and where a data directory stands that was compared with it. */
export const clusterStatusJson = (status: ClusterStatus) => ({
  ...clusterLogJson(status),
  directory: status.directory,
});

/** Makes the JSON of this host. @param deliveries what it knows of the lease to deliver; null where it only reads */
export const hostJson = (
  name: string,
  { position, head, lagSeconds, reachable, conflicts, healed }: ClusterState,
  deliveries: LeaseStanding | null,
): NonNullable<HostsState['host']> => ({
  name,
  entry: position,
  head,
  lag_seconds: lagSeconds,
  reachable,
  conflicts,
  healed,
  deliveries:
    deliveries === null ? null : { held: deliveries.isHeld, holder: deliveries.holder, epoch: deliveries.epoch },
});
