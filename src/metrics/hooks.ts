/** What chainhooks are counted by. Neither hooks nor URLs are named: users put secrets into both. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { HookCounters } from '../hooks/counters.ts';
import type { HookGauges } from '../hooks/service.ts';

/** Each count by the name it is served under, which ends in `_total`. */
const counts: Readonly<Record<keyof HookCounters, readonly [name: string, help: string]>> = {
  evaluatedBlocks: ['chainhooks_evaluated_blocks_total', 'Blocks that live chainhooks were evaluated on'],
  matches: ['chainhooks_occurrences_total', 'Blocks that matched, one for each chainhook'],
  queued: ['chainhooks_deliveries_queued_total', 'Deliveries that were queued'],
  rollbacks: ['chainhooks_rollbacks_total', 'Deliveries that take blocks back'],
  delivered: ['chainhooks_deliveries_succeeded_total', 'Attempts that were answered 2xx'],
  failed: ['chainhooks_deliveries_failed_total', "Attempts that weren't"],
  interrupted: ['chainhooks_interrupted_total', 'Chainhooks that were interrupted'],
  blockedTargets: ['chainhooks_ssrf_blocked_total', 'Attempts that were not made: the target may not be called'],
};

/** Registers them; all are read when they are asked for. */
export function hookMetrics(registry: Registry, counters: () => HookCounters, gauges: () => HookGauges): void {
  const registers = [registry];
  for (const [key, [name, help]] of Object.entries(counts)) {
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(counters()[key as keyof HookCounters]);
      },
    });
  }
  new Gauge({
    name: 'chainhooks_outbox_pending',
    help: 'Deliveries that wait',
    registers,
    collect() {
      this.set(gauges().pending);
    },
  });
  new Gauge({
    name: 'chainhooks_outbox_oldest_seconds',
    help: 'Seconds since the oldest delivery that waits was made',
    registers,
    collect() {
      this.set(gauges().oldestPendingSeconds);
    },
  });
  new Gauge({
    name: 'chainhooks_hooks',
    help: 'Chainhooks by status',
    labelNames: ['status', 'enabled'],
    registers,
    collect() {
      this.reset();
      for (const { status, enabled, count } of gauges().hooks) this.set({ status, enabled: String(enabled) }, count);
    },
  });
}
