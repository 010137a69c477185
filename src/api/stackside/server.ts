/** State of a server, its last hour, and the hosts of its cluster. Stackside's own routes. */

import { type Static, Type } from '@sinclair/typebox';
import { HistoryFrom } from '../../http/history.ts';
import { type Access, route, WITHOUT_INDEX } from '../../http/route.ts';
import { serverStates } from '../server-state.ts';
import { Hash, named, nullable, UnixTime, words } from '../shared/fields.ts';

/**
 * The declaration that all routes with the admin key share.
 * @param access accepts the admin key only, and returns the parts of the process that the routes use
 */
export const operatorFamily = <System>(access: Access<object, System>) =>
  ({
    tag: 'Stackside',
    access,
    ...WITHOUT_INDEX,
    mainThread: true,
    refusals: {
      403: 'The admin key is required, or a web page of another origin sent the request',
      421: 'The `Host` header does not name this server',
      429: 'Too many requests with wrong keys came from the address',
      503: "The data can't be used now, or this process does not write",
    },
  }) as const;
export type OperatorFamily<System> = ReturnType<typeof operatorFamily<System>>;

const text = (description: string) => nullable(Type.String(), { description });
const integer = (description: string) => nullable(Type.Integer(), { description });

/** Schema of a host's state in its cluster. */
export const HostState = named('HostState', {
  name: Type.String(),
  entry: Type.Integer({ description: 'Last entry of the log that this host has applied' }),
  head: integer('Newest entry of the log that this host has seen; null until it reaches the log'),
  lag_seconds: Type.Number({ description: 'Seconds since this host last had all entries; 0 while it has all of them' }),
  reachable: Type.Boolean({ description: 'Whether the log answers and accepts writes' }),
  conflicts: Type.Integer({
    description: "Events of this host that collided with another host's entry in the log, since its start",
  }),
  healed: Type.Integer({ description: 'Entries that the log lost and this host restored, since its start' }),
  deliveries: nullable(
    Type.Object({
      held: Type.Boolean({ description: 'Whether this host delivers chainhooks' }),
      holder: text('Name of the host that delivers; null if this host knows of none'),
      epoch: integer('Increases each time a host starts to deliver; null before the first check'),
    }),
    { description: 'The host that delivers chainhooks; null on a host that only reads' },
  ),
});

/** Schema of a shared log with its hosts, which `stackside cluster status` prints. */
export const ClusterLog = named('ClusterLog', {
  chain_id: integer('Null until a host reports it'),
  head: Type.Object({ entry: Type.Integer(), chain: Hash }),
  log_bytes: Type.Integer({ description: 'Size of the log on the disk of PostgreSQL' }),
  hosts: Type.Array(
    Type.Object({
      name: Type.String(),
      entry: Type.Integer({ description: 'Newest entry of the host when it reported' }),
      behind: Type.Integer({ description: 'Newer entries of the log, including entries that arrived since' }),
      lag_seconds: Type.Number({
        description: 'Seconds since the first missing entry arrived; 0 if the host had all entries at its last report',
      }),
      version: Type.String(),
      seen_seconds_ago: Type.Number({ description: 'Seconds since its last report; it reports every few seconds' }),
    }),
    { description: 'Hosts that ever reported, by name' },
  ),
  leases: Type.Array(
    Type.Object({
      name: Type.String({ description: 'What the lease is for' }),
      holder: Type.String({ description: 'Name of the host that has it, or had it last' }),
      epoch: Type.Integer({ description: 'Increases with each holder' }),
      seconds_left: Type.Number({ description: '0 once it has ended' }),
    }),
  ),
  engine: Type.Object({
    server: Type.String({ description: 'Address of the server that accepts writes' }),
    version: Type.String(),
    synchronous_standby_names: text('The setting of this name; null if there is none'),
    standbys: Type.Array(
      Type.Object({
        name: Type.String(),
        state: text('`streaming` if it is up to date; null if the role may not see it'),
        sync: text('`sync` or `quorum` if commits wait for it; null if the role may not see it'),
      }),
    ),
  }),
  warnings: Type.Array(Type.String(), { description: 'Warnings about PostgreSQL for the operator, as sentences' }),
});
export type ClusterLog = Static<typeof ClusterLog>;

export const HostsState = named('HostsState', {
  host: nullable(HostState, { description: 'Null if this server is not part of a cluster' }),
  log: nullable(ClusterLog),
  problem: text('Reason why the log can’t be reached; null if it can'),
});
export type HostsState = Static<typeof HostsState>;

/** The route of the cluster's hosts. */
export const hostsRoute = (family: OperatorFamily<{ hosts(): Promise<HostsState> }>) =>
  route({
    ...family,
    path: '/stackside/v1/hosts',
    operationId: 'getHosts',
    summary: 'Hosts of a cluster',
    description:
      'Returns the state of all hosts of the cluster and of their log, as `stackside cluster status` does. `host` is null in a server without a cluster. Requires the admin key.',
    response: HostsState,
    handle: ({ caller: system }) => system.hosts(),
  });

/** The bases of an archive. A restore can start from a base without a replay. */
export const ArchiveBase = named('ArchiveBase', {
  entry: integer('Entry of the newest base; null if there is none, or none was read yet'),
  height: integer('Height of its tip'),
  made_at: nullable(UnixTime),
  overdue_seconds: Type.Integer({ description: 'Seconds since a base has been due; 0 if none is due' }),
  failing: Type.Boolean({ description: 'Whether the last attempt to make one failed; the server log has the reason' }),
  making: nullable(
    Type.Object({
      table: Type.String({ description: 'Table that is being read, with its number and the number of tables' }),
      number: Type.Integer(),
      of: Type.Integer(),
      sent_bytes: Type.Integer({ description: 'Bytes that were sent' }),
    }),
  ),
});
export type ArchiveBase = Static<typeof ArchiveBase>;

export const ServerStatus = named('ServerStatus', {
  server_version: Type.String(),
  mode: Type.String({ description: 'Mode of this process: `full`, `read` or `write`' }),
  uptime_seconds: Type.Integer(),
  ready: Type.Boolean({ description: 'Whether the data is up to date, as in `/ready`' }),
  state: words(...serverStates),
  reason: text('The state in sentences; null if the server is live'),
  next: Type.String({ description: "The operator's next step, in sentences" }),
  observer: text("Section that the node's configuration needs, as TOML; null unless the next step is to add it"),
  seconds_left: integer('Estimated seconds until the index is up to date; null if unknown'),
  index: Type.Object({
    height: integer('Height of the newest block; null before the first one'),
    tip_age_seconds: integer('Seconds since the time of the newest block'),
    chain_id: integer('Chain id of the data, or of the settings before the first block; null if unknown'),
    history_from: Type.Optional(HistoryFrom),
  }),
  node: Type.Object({
    height: integer('Height of the newest block of the node; null if the node doesn’t answer'),
    chain_id: integer('Chain id of the node; null if the node doesn’t answer'),
  }),
  events: nullable(
    Type.Object({
      endpoint: Type.String({
        description: 'Address that the node posts its events to, as its configuration names it',
      }),
      per_second: Type.Number({ description: 'Events per second over the last minute' }),
      latency: nullable(
        Type.Object(
          {
            events: Type.Integer({ description: 'Number of timed events: the newest ones, at most 1,000' }),
            median_ms: Type.Number(),
            p99_ms: Type.Number({ description: "Time that 99 % of the events didn't exceed" }),
          },
          { description: 'Time until an event was on the disk' },
        ),
      ),
      last_received_at: integer('Unix time of the last event since the start; null before the first one'),
    }),
    { description: "Events from the node; null if this process doesn't receive events" },
  ),
  cluster: nullable(HostState, {
    description: 'State of this host in its cluster; null in a server that shares no log',
  }),
  archive: nullable(
    Type.Object(
      {
        entry: Type.Integer({ description: 'Last entry of the log that the archive has' }),
        behind_entries: Type.Integer({ description: 'Entries of the log that it lacks' }),
        behind_seconds: Type.Number({
          description: 'Seconds since the archive last had every entry; 0 if it has all of them',
        }),
        failing: Type.Boolean({
          description: 'Whether the last attempt to write it failed; the server log has the reason',
        }),
        base: ArchiveBase,
      },
      { description: 'The archive of the log; null if this server doesn’t write one' },
    ),
  ),
  memory_bytes: Type.Integer({ description: 'Memory of the process (resident set size)' }),
  disk: Type.Object({
    index_bytes: Type.Integer({ description: 'Size of the index with its write-ahead log' }),
    journal_bytes: Type.Integer({ description: 'Size of the journal with its write-ahead log' }),
    free_bytes: integer('Free space on the disk of the data directory; null if it is unknown'),
    growth: nullable(
      Type.Object(
        {
          measured_seconds: Type.Integer(),
          bytes_per_day: Type.Integer({ description: 'Decrease of the free space per day; negative if it grows' }),
          full_in_seconds: integer('Seconds until the disk is full; null if the free space doesn’t shrink'),
        },
        { description: 'Trend of the free space in the last day; null in the first hour of measurements' },
      ),
    ),
  }),
  simulated_node: Type.Boolean({ description: 'Whether the node is a simulated one, which the API steers' }),
});

export type ServerStatus = Static<typeof ServerStatus>;

const values = (description: string) => Type.Array(Type.Number(), { description });
const gaps = (description: string) => Type.Array(nullable(Type.Number()), { description });

export const ServerHistory = named('ServerHistory', {
  interval_seconds: Type.Integer({ description: 'Seconds that each value covers' }),
  times: Type.Array(Type.Integer(), { description: 'Ends of the intervals in Unix seconds, oldest first' }),
  events_per_second: values('Events of the node per second'),
  requests_per_second: values('Requests to the API per second'),
  request_ms: gaps('Mean time of a request in milliseconds; null if there was none'),
  deliveries_succeeded: values('Delivery attempts that succeeded'),
  deliveries_failed: values('Delivery attempts that failed'),
  delivery_ms: gaps('Mean time of a delivery attempt in milliseconds; null if there was none'),
  slowest_delivery_ms: gaps('Time of the slowest delivery attempt in milliseconds; null if there was none'),
  memory_bytes: values('Memory of the process (resident set size)'),
  cpu_share: values('Processor time of all threads as a share of one processor'),
});

export type ServerHistory = Static<typeof ServerHistory>;

/** The state and the last hour of the running server. */
export interface ServerReadings {
  status(): Promise<ServerStatus>;
  history(): ServerHistory;
}

const family = { tag: 'Stackside', ...WITHOUT_INDEX, mainThread: true } as const;

/** The routes of the server's status and of its last hour. @param server null in an API thread, which forwards requests */
export function serverRoutes(server: ServerReadings | null) {
  function readings(): ServerReadings {
    if (server === null) throw new Error('an API thread forwards requests for the state of the server');
    return server;
  }
  return [
    route({
      ...family,
      path: '/stackside/v1/status',
      operationId: 'getServerStatus',
      summary: 'State of this server',
      description:
        'Returns the state of this server: heights of its index and of the node, events from the node, memory and disk.',
      response: ServerStatus,
      // As for /ready: `stackside status` and `doctor` have no read key.
      cost: 0,
      handle: () => readings().status(),
    }),
    route({
      ...family,
      path: '/stackside/v1/history',
      operationId: 'getServerHistory',
      summary: 'The last hour of this server',
      description:
        'Returns the server’s activity in each ten seconds of the last hour: events, requests, deliveries, memory and processor time. The figures are kept in memory and start over with each start of the server.',
      response: ServerHistory,
      handle: () => readings().history(),
    }),
  ];
}
