/** Metrics that read their values when they are collected. */
import { Counter, Gauge, type Registry } from 'prom-client';

/** A value without labels, or one value per set of labels. */
type MetricValue = number | Iterable<readonly [labels: Readonly<Record<string, string>>, value: number]>;

/** The help of a metric, a function that returns its current values, and its labels. Missing label sets are not served. */
type Collected = readonly [help: string, read: () => MetricValue, ...labelNames: string[]];

const withLabels = (reading: MetricValue) => (typeof reading === 'number' ? ([[{}, reading]] as const) : reading);

/** Registers metrics by their names. A name with the suffix `_total` makes a counter, another name makes a gauge. */
export function collected(registry: Registry, metrics: Readonly<Record<string, Collected>>): void {
  for (const [name, [help, read, ...labelNames]] of Object.entries(metrics)) {
    const metric = { name, help, labelNames, registers: [registry] };
    if (name.endsWith('_total')) {
      new Counter({
        ...metric,
        collect() {
          this.reset();
          for (const [labels, total] of withLabels(read())) this.inc(labels, total);
        },
      });
    } else {
      new Gauge({
        ...metric,
        collect() {
          this.reset();
          for (const [labels, value] of withLabels(read())) this.set(labels, value);
        },
      });
    }
  }
}
