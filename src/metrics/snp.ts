/** Metrics of the stream of stacks-node-publisher. */
import type { Registry } from 'prom-client';
import type { SnpSubscriber } from '../node/snp/subscriber.ts';
import { collectedCounter, collectedGauge } from './collected.ts';

/** Registers the metrics of the stream. */
export function snpMetrics(registry: Registry, subscriber: Pick<SnpSubscriber, 'failing' | 'counted'>): void {
  collectedGauge(registry, {
    name: 'stackside_snp_connected',
    help: '1 while events can be taken from stacks-node-publisher, otherwise 0',
    read: () => (subscriber.failing() === null ? 1 : 0),
  });
  collectedGauge(registry, {
    name: 'stackside_snp_sequence',
    help: 'Number of the last message that was taken from stacks-node-publisher',
    read: () => subscriber.counted().sequence,
  });
  collectedCounter(registry, {
    name: 'stackside_snp_handshakes_total',
    help: 'Streams that were asked for, by reason',
    labelNames: ['reason'],
    read: () => [...subscriber.counted().handshakes].map(([reason, count]) => [{ reason }, count] as const),
  });
  collectedCounter(registry, {
    name: 'stackside_snp_gaps_total',
    help: 'Gaps in the numbers of messages that remained when the stream was asked for again',
    read: () => subscriber.counted().gaps,
  });
  collectedCounter(registry, {
    name: 'stackside_snp_failures_total',
    help: 'Attempts to read the stream or to apply a message that failed',
    read: () => subscriber.counted().failures,
  });
}
