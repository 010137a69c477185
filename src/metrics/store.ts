/** Metrics of writes. */
import type { Registry } from 'prom-client';
import { unknownKinds } from '../chain/effect.ts';
import { storeFailures } from '../store/files/store-failure.ts';
import type { UnknownCounts } from '../store/ingest/event-router.ts';
import type { WriterHealth } from '../store/ingest/writer.ts';
import { collectedCounter, collectedGauge } from './collected.ts';

/** Registers the metrics of writes. */
export function storeMetrics(registry: Registry, health: WriterHealth, unknown: UnknownCounts): void {
  collectedCounter(registry, {
    name: 'stackside_unknown_kinds_total',
    help: 'Transactions, events and statuses of kinds that only a newer node knows, and events posted to such paths',
    labelNames: ['what'],
    read: () => unknownKinds.map((what) => [{ what }, unknown[what]]),
  });
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
