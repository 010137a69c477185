/** Metrics that read their values when they are collected. */
import { Counter, Gauge, type Registry } from 'prom-client';

/** A value without labels, or one value per set of labels. */
type MetricValue = number | Iterable<readonly [labels: Readonly<Record<string, string>>, value: number]>;

interface Collected {
  name: string;
  help: string;
  labelNames?: string[];
  /** Returns the current values. Missing label sets are not served. */
  read: () => MetricValue;
}

const labelled = (reading: MetricValue) => (typeof reading === 'number' ? ([[{}, reading]] as const) : reading);

/** Registers a gauge. */
export function collectedGauge(registry: Registry, { read, ...metric }: Collected): void {
  new Gauge({
    ...metric,
    registers: [registry],
    collect() {
      this.reset();
      for (const [labels, value] of labelled(read())) this.set(labels, value);
    },
  });
}

/** Registers a counter. @param metric reads totals, which never decrease */
export function collectedCounter(registry: Registry, { read, ...metric }: Collected): void {
  new Counter({
    ...metric,
    registers: [registry],
    collect() {
      this.reset();
      for (const [labels, total] of labelled(read())) this.inc(labels, total);
    },
  });
}
