/** Metrics of writes. */
import type { Registry } from 'prom-client';
import { storeFailures } from '../store/files/store-failure.ts';
import type { WriterHealth } from '../store/ingest/writer-health.ts';
import { collectedCounter, collectedGauge } from './collected.ts';

/** Registers the metrics of writes. */
export function storeMetrics(registry: Registry, health: WriterHealth): void {
  collectedCounter(registry, {
    name: 'stackside_store_failures_total',
    help: 'Writes that failed, by reason: a full disk, an I/O error, a lock that was held too long',
    labelNames: ['reason'],
    read: () => storeFailures.map((reason) => [{ reason }, health.failures().get(reason) ?? 0]),
  });
  collectedGauge(registry, {
    name: 'stackside_store_writable',
    help: '1 if the last write succeeded, otherwise 0',
    read: () => (health.failing() === null ? 1 : 0),
  });
}
