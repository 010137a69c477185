/** Metrics of chainhooks. Labels name neither hooks nor URLs, since users put secrets into both. */
import { Histogram, type Registry } from 'prom-client';
import type { HookCounters, HookTimers } from '../hooks/counters.ts';
import type { HookGauges } from '../hooks/service.ts';
import { collectedCounter, collectedGauge } from './collected.ts';

/** The name and help of each counter. */
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

/** Functions that read the state of chainhooks when metrics are collected. */
export interface HookReadings {
  counters: () => HookCounters;
  gauges: () => HookGauges;
  /** Requests with wrong keys since the process began. */
  wrongKeys: () => number;
}

/** Registers the counters and gauges of chainhooks. */
export function hookMetrics(registry: Registry, { counters, gauges, wrongKeys }: HookReadings): void {
  for (const [key, [name, help]] of Object.entries(counts)) {
    collectedCounter(registry, { name, help, read: () => counters()[key as keyof HookCounters] });
  }
  collectedGauge(registry, {
    name: 'chainhooks_outbox_pending',
    help: 'Deliveries that wait',
    read: () => gauges().pending,
  });
  collectedGauge(registry, {
    name: 'chainhooks_outbox_oldest_seconds',
    help: 'Seconds since the oldest delivery that waits was made',
    read: () => gauges().oldestPendingSeconds,
  });
  collectedGauge(registry, {
    name: 'chainhooks_hooks',
    help: 'Chainhooks by status',
    labelNames: ['status', 'enabled'],
    read: () => gauges().hooks.map(({ status, enabled, count }) => [{ status, enabled: String(enabled) }, count]),
  });
  collectedCounter(registry, {
    name: 'chainhooks_wrong_keys_total',
    help: 'Requests with an API key that is none of this server, or that came too soon after such requests',
    read: wrongKeys,
  });
}

/** Most blocks are evaluated in less than a millisecond. */
const EVALUATION_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const DELIVERY_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60, 300];

/** Registers the histograms of chainhooks. @returns what observes a time, in milliseconds */
export function hookTimers(registry: Registry): HookTimers {
  const registers = [registry];
  const evaluation = new Histogram({
    name: 'chainhooks_evaluation_seconds',
    help: 'Time that live chainhooks were evaluated on a block, or on those of a fork, with the making of deliveries',
    buckets: EVALUATION_SECONDS,
    registers,
  });
  const delivery = new Histogram({
    name: 'chainhooks_delivery_seconds',
    help: 'Time of an attempt to deliver, with success or without',
    buckets: DELIVERY_SECONDS,
    registers,
  });
  return {
    evaluated: (milliseconds) => evaluation.observe(milliseconds / 1000),
    attempted: (milliseconds) => delivery.observe(milliseconds / 1000),
  };
}
