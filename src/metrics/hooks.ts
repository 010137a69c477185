/** Metrics of chainhooks. Labels contain neither hooks nor URLs, because users put secrets into both. */
import { Histogram, type Registry } from 'prom-client';
import type { HookCounters, HookTimers } from '../hooks/reporting.ts';
import type { HookGauges } from '../hooks/service.ts';
import { collected } from './collected.ts';

const counts: Readonly<Record<keyof HookCounters, readonly [name: string, help: string]>> = {
  evaluatedBlocks: ['chainhooks_evaluated_blocks_total', 'Blocks evaluated for live chainhooks'],
  matches: ['chainhooks_occurrences_total', 'Blocks that matched a chainhook, counted once per chainhook'],
  rollbacks: ['chainhooks_rollbacks_total', 'Deliveries that roll back blocks'],
  delivered: ['chainhooks_deliveries_succeeded_total', 'Delivery attempts that succeeded (2xx response)'],
  failed: ['chainhooks_deliveries_failed_total', 'Delivery attempts that failed (no 2xx response)'],
  interrupted: ['chainhooks_interrupted_total', 'Chainhooks that were interrupted'],
  blockedTargets: [
    'chainhooks_ssrf_blocked_total',
    'Delivery attempts that were not made because the target is not allowed',
  ],
};

interface HookReadings {
  counters: () => HookCounters;
  gauges: () => HookGauges;
  unreadableSecrets: () => number;
  wrongKeys: () => number;
}

/** Registers the counters and gauges of chainhooks. */
export function hookMetrics(
  registry: Registry,
  { counters, gauges, unreadableSecrets, wrongKeys }: HookReadings,
): void {
  for (const [key, [name, help]] of Object.entries(counts)) {
    collected(registry, { [name]: [help, () => counters()[key as keyof HookCounters]] });
  }
  collected(registry, {
    chainhooks_outbox_pending: [
      'Deliveries in the queue, without those that interrupted their chainhook',
      () => gauges().pending,
    ],
    chainhooks_outbox_oldest_seconds: [
      'Age of the oldest delivery in the queue, in seconds',
      () => gauges().oldestPendingSeconds,
    ],
    chainhooks_secrets_unreadable: [
      "Consumers that get no deliveries because this host can't read their signing secret; should be 0",
      unreadableSecrets,
    ],
    chainhooks_hooks: [
      'Chainhooks, by status',
      () => gauges().hooks.map(({ status, enabled, count }) => [{ status, enabled: String(enabled) }, count]),
      'status',
      'enabled',
    ],
    chainhooks_auth_failures_total: [
      'Requests with a wrong API key, including requests rejected after too many wrong keys',
      wrongKeys,
    ],
  });
}

/** Most blocks are evaluated in less than a millisecond. */
const EVALUATION_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const DELIVERY_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60, 300];

/** Registers the histograms of chainhooks. @returns functions that observe a time, in milliseconds */
export function hookTimers(registry: Registry): HookTimers {
  const registers = [registry];
  const evaluation = new Histogram({
    name: 'chainhooks_evaluation_seconds',
    help: 'Time to evaluate live chainhooks for a block or a fork and to make their deliveries, in seconds',
    buckets: EVALUATION_SECONDS,
    registers,
  });
  const delivery = new Histogram({
    name: 'chainhooks_delivery_seconds',
    help: 'Duration of a delivery attempt, successful or not, in seconds',
    buckets: DELIVERY_SECONDS,
    registers,
  });
  return {
    evaluated: (milliseconds) => evaluation.observe(milliseconds / 1000),
    attempted: (milliseconds) => delivery.observe(milliseconds / 1000),
  };
}
