/** Metrics whose values are read when they are collected. */
import { Counter, Gauge, type Registry } from 'prom-client';

/** A value without labels, or one for each set of labels. */
type Reading = number | Iterable<readonly [labels: Readonly<Record<string, string>>, value: number]>;

interface Collected {
  name: string;
  help: string;
  labelNames?: string[];
  /** The values now; label sets that are missing are not served. */
  read: () => Reading;
}

const labelled = (reading: Reading) => (typeof reading === 'number' ? ([[{}, reading]] as const) : reading);

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

/** Registers a counter. @param metric reads totals, which only grow */
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
