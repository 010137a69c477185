/** Metrics of the node's events, and of the stream of stacks-node-publisher. */
import { Histogram, type Registry } from 'prom-client';
import { eventPaths } from '../chain/payload-reader.ts';
import type { EventMetrics, EventOutcome } from '../node/event-intake.ts';
import type { SnpSubscriber } from '../node/snp/subscriber.ts';
import { collected } from './collected.ts';

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
 * @param now the clock, in Unix milliseconds
 */
export function eventMetrics(registry: Registry, waiting: () => number, now: () => number): EventMetrics {
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
  collected(registry, {
    stackside_events_total: [
      'Events that the node posted, by path and outcome; `rejected` and `failed` should stay 0',
      () =>
        all.flatMap(({ event, outcomes }) =>
          [...outcomes].map(([outcome, count]) => [{ event, outcome }, count] as const),
        ),
      'event',
      'outcome',
    ],
    stacks_last_event_timestamps: [
      'Time of the last event by path, in Unix milliseconds',
      () => all.filter(({ outcomes }) => outcomes.size > 0).map(({ event, newest }) => [{ event }, newest] as const),
      'event',
    ],
    stackside_events_in_flight: ['Events that wait for a response', waiting],
  });
  return {
    answered(event, outcome, milliseconds) {
      const series = byPath.get(event);
      if (series === undefined) return;
      series.outcomes.set(outcome, (series.outcomes.get(outcome) ?? 0) + 1);
      series.times.observe(milliseconds);
      series.newest = now();
    },
  };
}

/** Registers the metrics of the stream. */
export function snpMetrics(registry: Registry, subscriber: Pick<SnpSubscriber, 'failing' | 'counted'>): void {
  collected(registry, {
    stackside_snp_connected: [
      '1 if Stackside can read events from stacks-node-publisher, otherwise 0',
      () => (subscriber.failing() === null ? 1 : 0),
    ],
    stackside_snp_sequence: [
      'Number of the last message read from stacks-node-publisher',
      () => subscriber.counted().sequence,
    ],
    stackside_snp_handshakes_total: [
      'Requests for a stream, by reason',
      () => [...subscriber.counted().handshakes].map(([reason, count]) => [{ reason }, count] as const),
      'reason',
    ],
    stackside_snp_failures_total: [
      'Failed attempts to read the stream or to apply a message',
      () => subscriber.counted().failures,
    ],
  });
}
