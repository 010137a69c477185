/** How requests are timed. */
import { Histogram, type Registry } from 'prom-client';

/** Says that a request was answered, with which status, and how many milliseconds that took. */
export type RequestDone = (status: number, milliseconds: number) => void;

/** Made once for each route: `route` is its pattern, never a path, of which there are endlessly many. */
export type RequestTimer = (method: string, route: string) => RequestDone;

export const untimed: RequestTimer = () => () => {};

/** Most answers take a tenth of a millisecond. */
const SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function requestTimer(registry: Registry): RequestTimer {
  const durations = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time until a request was answered, by route and status',
    labelNames: ['method', 'route', 'status_code'],
    buckets: SECONDS,
    registers: [registry],
  });
  return (method, route) => {
    // By status: finding the series of three labels anew costs more than counting.
    const series: Histogram.Internal<string>[] = [];
    return (status, milliseconds) => {
      series[status] ??= durations.labels(method, route, String(status));
      series[status].observe(milliseconds / 1000);
    };
  };
}
