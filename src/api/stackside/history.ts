/** The work of this server in the last hour, for charts. The route is Stackside's own. */
import { type Static, Type } from '@sinclair/typebox';
import { notFound } from '../../http/errors.ts';
import { route } from '../../http/route.ts';

const values = (description: string) => Type.Array(Type.Number(), { description });
const gaps = (description: string) => Type.Array(Type.Union([Type.Number(), Type.Null()]), { description });

export const ServerHistory = Type.Object(
  {
    interval_seconds: Type.Integer({ description: 'Seconds that each value is of' }),
    times: Type.Array(Type.Integer(), { description: 'Ends of the intervals in Unix seconds, oldest first' }),
    events_per_second: values('Events of the node per second'),
    requests_per_second: values('Requests to the API per second'),
    request_ms: gaps('Mean time of a request in milliseconds; null where there was none'),
    deliveries_succeeded: values('Delivery attempts that succeeded'),
    deliveries_failed: values('Delivery attempts that failed'),
    delivery_ms: gaps('Mean time of a delivery attempt in milliseconds; null where there was none'),
    slowest_delivery_ms: gaps('Time of the slowest delivery attempt in milliseconds; null where there was none'),
    memory_bytes: values('Memory of the process (resident set size)'),
    cpu_share: values('Processor time of all threads as a share of one processor'),
  },
  { $id: 'ServerHistory' },
);

/** The last hour of a server, as the route answers it. */
export type ServerHistory = Static<typeof ServerHistory>;

/** @param history reads what this process recorded; null where nothing does, such as in tests of single routes */
export const serverHistory = (history: (() => ServerHistory) | null) => [
  route({
    path: '/stackside/v1/history',
    operationId: 'getServerHistory',
    summary: 'The last hour of this server',
    description:
      'Returns what the server did in each ten seconds of the last hour: events, requests, deliveries, memory and processor time. The figures are kept in memory and begin anew with each start.',
    tag: 'Stackside',
    notFound: 'History not found',
    response: ServerHistory,
    etag: null,
    snapshot: false,
    mainThread: true,
    handle: () => {
      if (history === null) throw notFound('History not found: this process records none');
      return history();
    },
  }),
];
