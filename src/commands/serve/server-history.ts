/** Reads what `/stackside/v1/history` answers. */
import type { ServerHistory } from '../../api/stackside/history.ts';
import type { LastHour } from '../../metrics/last-hour.ts';

/** A value with as many digits as a chart shows. */
const rounded = (value: number): number => Number(value.toPrecision(4));
const roundedOrNull = (value: number | null): number | null => (value === null ? null : rounded(value));

/** The last hour by column. */
export function serverHistory(hour: LastHour): ServerHistory {
  const samples = hour.samples();
  return {
    interval_seconds: hour.intervalSeconds,
    times: samples.map(({ time }) => time),
    events_per_second: samples.map(({ eventsPerSecond }) => rounded(eventsPerSecond)),
    requests_per_second: samples.map(({ requestsPerSecond }) => rounded(requestsPerSecond)),
    request_ms: samples.map(({ requestMs }) => roundedOrNull(requestMs)),
    deliveries_succeeded: samples.map(({ delivered }) => delivered),
    deliveries_failed: samples.map(({ failed }) => failed),
    delivery_ms: samples.map(({ deliveryMs }) => roundedOrNull(deliveryMs)),
    slowest_delivery_ms: samples.map(({ slowestDeliveryMs }) => roundedOrNull(slowestDeliveryMs)),
    memory_bytes: samples.map(({ memoryBytes }) => memoryBytes),
    cpu_share: samples.map(({ cpuShare }) => rounded(cpuShare)),
  };
}
