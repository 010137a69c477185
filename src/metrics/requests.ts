/** Metrics of requests, and of the snapshots that they read. */
import { Counter, Histogram, type Registry } from 'prom-client';
import type { RateLimitMetrics } from '../http/rate-limit.ts';
import type { RequestMetrics } from '../http/route.ts';
import type { SnapshotEvent } from '../store/read/snapshots.ts';

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
