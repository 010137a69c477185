/** Whether what is to be written can be written. */
import { Counter, Gauge, type Registry } from 'prom-client';
import { storeFailures } from '../store/files/store-failure.ts';
import type { WriterHealth } from '../store/ingest/writer-health.ts';

/** Registers them; both are read when they are asked for. */
export function storeMetrics(registry: Registry, health: WriterHealth): void {
  const registers = [registry];
  new Counter({
    name: 'stackside_store_failures_total',
    help: 'Writes that failed, by reason: a full disk, an I/O error, a lock that was held too long',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset();
      for (const reason of storeFailures) this.inc({ reason }, health.failures().get(reason) ?? 0);
    },
  });
  new Gauge({
    name: 'stackside_store_writable',
    help: 'Whether the last write succeeded: 1 or 0',
    registers,
    collect() {
      this.set(health.failing() === null ? 1 : 0);
    },
  });
}
