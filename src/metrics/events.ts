/** Metrics of the node's events. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { EventMetrics } from '../node/event-intake.ts';
import { collectedGauge } from './collected.ts';

/**
 * Registers the metrics of events.
 * @param waiting reads the number of events that were posted and are not answered yet
 */
export function eventMetrics(registry: Registry, waiting: () => number): EventMetrics {
  const registers = [registry];
  const counted = new Counter({
    name: 'stackside_events_total',
    help: 'Events that the node posted, by path and outcome',
    labelNames: ['event', 'outcome'],
    registers,
  });
  const times = new Histogram({
    name: 'stacks_event_ingestion_timers',
    help: 'Time until an event was on the disk, in milliseconds',
    labelNames: ['event'],
    buckets: [1, 5, 20, 50, 150, 450, 1350, 4050, 12150, 36450],
    registers,
  });
  const newest = new Gauge({
    name: 'stacks_last_event_timestamps',
    help: 'Time of the last event by path, in Unix milliseconds',
    labelNames: ['event'],
    registers,
  });
  collectedGauge(registry, {
    name: 'stackside_events_in_hand',
    help: 'Events that were posted and are not answered yet',
    read: waiting,
  });
  return {
    answered(event, outcome, milliseconds) {
      counted.inc({ event, outcome });
      times.observe({ event }, milliseconds);
      newest.set({ event }, Date.now());
    },
  };
}
