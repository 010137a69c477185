/** How this server does: for its console and for whoever watches it. The route is Stackside's own. */
import { type Static, Type } from '@sinclair/typebox';
import { notFound } from '../../http/errors.ts';
import { route } from '../../http/route.ts';
import { HostState } from './hosts.ts';

const nullable = (type: 'Integer' | 'Number' | 'String', description: string) =>
  Type.Union([Type[type](), Type.Null()], { description });

export const ServerStatus = Type.Object(
  {
    server_version: Type.String(),
    mode: Type.String({ description: 'What this process does: `full`, `read` or `write`' }),
    uptime_seconds: Type.Integer(),
    ready: Type.Boolean({ description: 'Whether answers are up to date, as `/ready` says it' }),
    reason: nullable('String', 'Why the server is not ready; null where it is'),
    index: Type.Object({
      height: nullable('Integer', 'Height of the newest block; null before the first one'),
      tip_age_seconds: nullable('Integer', 'Seconds since the time of the newest block; null before the first one'),
    }),
    node: Type.Object({
      height: nullable('Integer', 'Height of the newest block of the node; null where the node can’t be asked'),
    }),
    events: Type.Union(
      [
        Type.Object({
          endpoint: Type.String({
            description: 'Address that the node posts its events to, as its configuration names it',
          }),
          per_second: Type.Number({ description: 'Events per second over the last minute' }),
          last_received_at: nullable(
            'Integer',
            'Unix time of the last event since the start; null before the first one',
          ),
        }),
        Type.Null(),
      ],
      { description: 'Events from the node; null in a process that takes none' },
    ),
    cluster: Type.Union([HostState, Type.Null()], {
      description: 'Where this host of a cluster stands; null in a server that shares no log',
    }),
    memory_bytes: Type.Integer({ description: 'Memory of the process (resident set size)' }),
    disk: Type.Object({
      index_bytes: Type.Integer({ description: 'Size of the index with its write-ahead log' }),
      journal_bytes: Type.Integer({ description: 'Size of the journal with its write-ahead log' }),
      free_bytes: nullable('Integer', 'Free space on the disk of the data directory; null where it isn’t known'),
    }),
  },
  { $id: 'ServerStatus' },
);

/** The status of a server, as the route answers it. */
export type ServerStatus = Static<typeof ServerStatus>;

/** @param status reads the status of this process; null where nothing can tell it, such as in tests of single routes */
export const serverStatus = (status: (() => Promise<ServerStatus>) | null) => [
  route({
    path: '/stackside/v1/status',
    operationId: 'getServerStatus',
    summary: 'State of this server',
    description:
      'Returns how this server does: heights of its index and of the node, events from the node, memory and disk.',
    tag: 'Stackside',
    notFound: 'Status not found',
    response: ServerStatus,
    etag: null,
    snapshot: false,
    mainThread: true,
    handle: async () => {
      if (status === null) throw notFound('Status not found: this process has none of its own');
      return status();
    },
  }),
];
