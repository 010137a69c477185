/** Metrics of the node's events, and of the stream of stacks-node-publisher. */
import { Histogram, type Registry } from 'prom-client';
import { eventPaths } from '../chain/payload-reader.ts';
import type { EventMetrics, EventOutcome } from '../node/event-intake.ts';
import type { SnpSubscriber } from '../node/snp/subscriber.ts';
import { collectedCounter, collectedGauge } from './collected.ts';

/** Counts of the events of one path. */
interface PathSeries {
  event: string;
  /** Number of events by outcome. Outcomes that never occurred are missing. */
  outcomes: Map<EventOutcome, number>;
  times: Histogram.Internal<'event'>;
  /** Time of the last event, in Unix milliseconds. */
  newest: number;
}

/**
 * Registers the metrics of events. Each path that nodes post to has separate series, which are looked up once: the
 * library looks up a series by its labels at each count, which costs more than counting. Other paths are not counted.
 * @param waiting reads the number of posted events without an answer
 */
export function eventMetrics(registry: Registry, waiting: () => number): EventMetrics {
  const times = new Histogram({
    name: 'stacks_event_ingestion_timers',
    help: 'Time until an event was on the disk, in milliseconds',
    labelNames: ['event'],
    buckets: [1, 5, 20, 50, 150, 450, 1350, 4050, 12150, 36450],
    registers: [registry],
  });
  const byPath = new Map(
    eventPaths.map((event): [string, PathSeries] => [
      event,
      { event, outcomes: new Map(), times: times.labels(event), newest: 0 },
    ]),
  );
  const all = [...byPath.values()];
  collectedCounter(registry, {
    name: 'stackside_events_total',
    help: 'Events that the node posted, by path and outcome; `rejected` and `failed` should stay 0',
    labelNames: ['event', 'outcome'],
    read: () =>
      all.flatMap(({ event, outcomes }) =>
        [...outcomes].map(([outcome, count]) => [{ event, outcome }, count] as const),
      ),
  });
  collectedGauge(registry, {
    name: 'stacks_last_event_timestamps',
    help: 'Time of the last event by path, in Unix milliseconds',
    labelNames: ['event'],
    read: () =>
      all.filter(({ outcomes }) => outcomes.size > 0).map(({ event, newest }) => [{ event }, newest] as const),
  });
  collectedGauge(registry, {
    name: 'stackside_events_in_flight',
    help: 'Events that wait for a response',
    read: waiting,
  });
  return {
    answered(event, outcome, milliseconds) {
      const series = byPath.get(event);
      if (series === undefined) return;
      series.outcomes.set(outcome, (series.outcomes.get(outcome) ?? 0) + 1);
      series.times.observe(milliseconds);
      series.newest = Date.now();
    },
  };
}

/** Registers the metrics of the stream. */
export function snpMetrics(registry: Registry, subscriber: Pick<SnpSubscriber, 'failing' | 'counted'>): void {
  collectedGauge(registry, {
    name: 'stackside_snp_connected',
    help: '1 if Stackside can read events from stacks-node-publisher, otherwise 0',
    read: () => (subscriber.failing() === null ? 1 : 0),
  });
  collectedGauge(registry, {
    name: 'stackside_snp_sequence',
    help: 'Number of the last message read from stacks-node-publisher',
    read: () => subscriber.counted().sequence,
  });
  collectedCounter(registry, {
    name: 'stackside_snp_handshakes_total',
    help: 'Requests for a stream, by reason',
    labelNames: ['reason'],
    read: () => [...subscriber.counted().handshakes].map(([reason, count]) => [{ reason }, count] as const),
  });
  collectedCounter(registry, {
    name: 'stackside_snp_gaps_total',
    help: 'Gaps in the message numbers that remained after another request for the stream',
    read: () => subscriber.counted().gaps,
  });
  collectedCounter(registry, {
    name: 'stackside_snp_failures_total',
    help: 'Failed attempts to read the stream or to apply a message',
    read: () => subscriber.counted().failures,
  });
}
