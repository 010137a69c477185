/** The hosts that share a log with this one, for the operator. Stackside's own. */
import { type Static, Type } from '@sinclair/typebox';
import { route } from '../../http/route.ts';
import { Hash, nullable } from '../shared/values.ts';
import type { OperatorFamily } from './operator-family.ts';

const text = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

/** Schema of a host's own view: where it stands to its cluster's log. */
export const HostState = Type.Object(
  {
    name: Type.String(),
    entry: Type.Integer({ description: 'Last entry of the log that this host has applied' }),
    head: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Newest entry of the log, as far as this host knows; null before it reached the log',
    }),
    lag_seconds: Type.Number({
      description: 'Seconds since this host was last known to have all entries; 0 while it is',
    }),
    reachable: Type.Boolean({ description: 'Whether the log answered when it was asked last' }),
    conflicts: Type.Integer({
      description: 'Events of this host, since its start, that met an entry of another host in the log',
    }),
    healed: Type.Integer({
      description: 'Entries, since its start, that the log had lost and got back from this host',
    }),
    deliveries: Type.Union(
      [
        Type.Object({
          held: Type.Boolean({ description: 'Whether this host delivers chainhooks' }),
          holder: text('Name of the host that delivers, as far as this one knows; null before it asked'),
          epoch: Type.Union([Type.Integer(), Type.Null()], {
            description: 'Grows each time that a host begins to deliver; null before this host asked',
          }),
        }),
        Type.Null(),
      ],
      { description: 'Who delivers chainhooks; null on a host that only reads' },
    ),
  },
  { $id: 'HostState' },
);

/** A log with its hosts, as `stackside cluster status` shows it. */
export const ClusterLog = Type.Object(
  {
    chain_id: Type.Union([Type.Integer(), Type.Null()], { description: 'Null until a host named it' }),
    head: Type.Object({ entry: Type.Integer(), chain: Hash }),
    log_bytes: Type.Integer({ description: 'Size of the log on the disk of PostgreSQL' }),
    hosts: Type.Array(
      Type.Object({
        name: Type.String(),
        entry: Type.Integer({ description: 'Last entry that the host had when it told of itself' }),
        behind: Type.Integer({ description: 'Entries that the log has after it, those that came since among them' }),
        lag_seconds: Type.Number({
          description: 'Seconds since the first entry that it lacked came; 0 where it had all when it told of itself',
        }),
        version: Type.String(),
        seen_seconds_ago: Type.Number({
          description: 'Seconds since it told of itself, which it does every few seconds',
        }),
      }),
      { description: 'Hosts that ever told of themselves, by name' },
    ),
    leases: Type.Array(
      Type.Object({
        name: Type.String({ description: 'What the lease is for' }),
        holder: Type.String({ description: 'Name of the host that has it, or had it last' }),
        epoch: Type.Integer({ description: 'Grows with each holder' }),
        seconds_left: Type.Number({ description: '0 once it has ended' }),
      }),
    ),
    engine: Type.Object({
      server: Type.String({ description: 'Address of the server that takes writes' }),
      version: Type.String(),
      synchronous_standby_names: text('The setting of this name; null where there is none'),
      standbys: Type.Array(
        Type.Object({
          name: Type.String(),
          state: text('`streaming` where it is up to date; null where the role may not see it'),
          sync: text('`sync` or `quorum` where commits wait for it; null where the role may not see it'),
        }),
      ),
    }),
    warnings: Type.Array(Type.String(), { description: 'What the operator should know of PostgreSQL, as sentences' }),
  },
  { $id: 'ClusterLog' },
);
export type ClusterLog = Static<typeof ClusterLog>;

export const HostsState = Type.Object(
  {
    host: Type.Union([HostState, Type.Null()], { description: 'Null where this server shares no log' }),
    log: nullable(ClusterLog),
    problem: text('Why the log can’t be asked; null where it can'),
  },
  { $id: 'HostsState' },
);
/** The hosts of a cluster, as the route answers them. */
export type HostsState = Static<typeof HostsState>;

/** @param hosts asks the cluster's log */
export const hostsRoute = (family: OperatorFamily, hosts: () => Promise<HostsState>) =>
  route({
    ...family,
    path: '/stackside/v1/hosts',
    operationId: 'getHosts',
    summary: 'Hosts that share a log',
    description:
      'Returns where this host and the others of its cluster stand, with the log that they share, its leases and PostgreSQL’s replication, as `stackside cluster status` does. `host` is null in a server that shares no log. Only the admin key may ask.',
    response: HostsState,
    handle: hosts,
  });
