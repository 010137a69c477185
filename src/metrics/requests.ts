/** Metrics of the API: requests, their limits, snapshots that were cut off, realtime connections and readers of changes. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ChangeMetrics } from '../hooks/routes/changes.ts';
import type { RateLimitMetrics } from '../http/rate-limit.ts';
import type { RequestMetrics } from '../http/route.ts';
import type { ConnectionMetrics, LiveMetrics, Protocol } from '../live/connection.ts';
import type { TopicKind } from '../live/subscriptions.ts';
import type { SnapshotEvent } from '../store/read/snapshots.ts';
import { collected } from './collected.ts';

/** Most responses take a tenth of a millisecond. */
const SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Registers the histogram of request durations. */
export function requestMetrics(registry: Registry): RequestMetrics {
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time until a request was answered, in seconds, by method, route and status',
    labelNames: ['method', 'route', 'status_code'],
    buckets: SECONDS,
    registers: [registry],
  });
  return {
    route(method, pattern) {
      // Series are cached by status, because a look-up by three labels costs more than counting.
      const series: Histogram.Internal<string>[] = [];
      return (status, milliseconds) => {
        series[status] ??= durations.labels(method, pattern, String(status));
        series[status].observe(milliseconds / 1000);
      };
    },
  };
}

/** Registers the counters of clients with limits, by the names of their keys. */
export function rateLimitMetrics(registry: Registry): RateLimitMetrics {
  const counter = (name: string, help: string) =>
    new Counter({ name, help, labelNames: ['key'], registers: [registry] });
  const allowed = counter(
    'stackside_client_requests_total',
    'Client requests that counted towards a rate limit, by the name of the key; empty without a key',
  );
  const refused = counter(
    'stackside_client_requests_refused_total',
    'Client requests above the rate limit, by the name of the key; empty without a key',
  );
  return { counted: (key, isAllowed) => (isAllowed ? allowed : refused).inc({ key: key ?? '' }) };
}

/** Registers the counter of snapshots' events. @returns a function that counts an event and passes it to the log */
export function snapshotLog(registry: Registry, log: (event: SnapshotEvent) => void): (event: SnapshotEvent) => void {
  const cutOff = new Counter({
    name: 'stackside_read_timeouts_total',
    help: 'Requests that were cancelled because they read one snapshot for too long; should stay 0',
    registers: [registry],
  });
  return (event) => {
    if (event.event === 'read_timed_out') cutOff.inc();
    log(event);
  };
}

/** Registers the metrics of realtime connections, one set per protocol. */
export const liveMetrics = (registry: Registry): LiveMetrics => ({
  connections: (protocol) => connectionMetrics(registry, protocol),
  subscriptions: (counts) =>
    collected(registry, {
      stackside_subscriptions: [
        'Subscriptions of all connections, by topic',
        () => Object.entries(counts()).map(([topic, count]) => [{ topic }, count]),
        'topic',
      ],
    }),
});

function connectionMetrics(registry: Registry, prefix: Protocol): ConnectionMetrics {
  const registers = [registry];
  const open = new Gauge({ name: `${prefix}_connections`, help: 'Open connections', registers });
  const counter = (name: string, help: string) => new Counter({ name: `${prefix}_${name}_total`, help, registers });
  const connects = counter('connect', 'Connections that were opened');
  const disconnects = counter('disconnect', 'Connections that ended');
  const cut = counter('cut_off', 'Connections that were ended because the client was too slow');
  const refused = counter('refused', 'Connections that were ended because the client broke a rule of the protocol');
  const failed = counter('failed', 'Connections that were ended because a handler failed; the log has the cause');
  /**
   * Messages by topic since the last collection. A plain map is cheaper than a counter: a message may go to thousands of
   * clients.
   */
  const sentCounts = new Map<TopicKind, number>();
  new Counter({
    name: `${prefix}_events_sent`,
    help: 'Messages sent, by topic',
    labelNames: ['event'],
    registers,
    collect() {
      for (const [event, count] of sentCounts) this.inc({ event }, count);
      sentCounts.clear();
    },
  });
  return {
    connected() {
      connects.inc();
      open.inc();
    },
    disconnected() {
      disconnects.inc();
      open.dec();
    },
    cutOff: () => cut.inc(),
    refused: () => refused.inc(),
    failed: () => failed.inc(),
    sent: (kind) => void sentCounts.set(kind, (sentCounts.get(kind) ?? 0) + 1),
  };
}

/** Registers the metrics of readers of the chain's changes. */
export function changeMetrics(registry: Registry): ChangeMetrics {
  const registers = [registry];
  const readers = new Gauge({
    name: 'stackside_change_readers',
    help: 'Connected readers of changes: streams, and waiting requests',
    labelNames: ['form'],
    registers,
  });
  const sent = new Counter({
    name: 'stackside_changes_sent_total',
    help: 'Changes sent, by streams and on pages',
    labelNames: ['form'],
    registers,
  });
  for (const form of ['stream', 'wait']) readers.set({ form }, 0);
  for (const form of ['stream', 'page']) sent.inc({ form }, 0);
  return {
    opened: (form) => readers.inc({ form }),
    closed: (form) => readers.dec({ form }),
    sent: (form, changes) => sent.inc({ form }, changes),
  };
}
