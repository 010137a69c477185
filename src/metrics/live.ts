/** Metrics of realtime connections. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { ChangeMetrics } from '../hooks/routes/changes.ts';
import type { ConnectionMetrics, LiveMetrics, Protocol } from '../live/guard.ts';
import type { TopicKind } from '../live/topics.ts';
import { collected } from './collected.ts';

/** Registers the metrics of realtime connections, one set per protocol. */
export const liveMetrics = (registry: Registry): LiveMetrics => ({
  connections: (protocol) => connectionMetrics(registry, protocol),
  subscriptions: (counts) =>
    collected(registry, {
      stackside_subscriptions: [
        'Subscriptions of all connections, by topic',
        () => Object.entries(counts()).map(([topic, count]) => [{ topic }, count]),
        'topic',
      ],
    }),
});

function connectionMetrics(registry: Registry, prefix: Protocol): ConnectionMetrics {
  const registers = [registry];
  const open = new Gauge({ name: `${prefix}_connections`, help: 'Open connections', registers });
  const counter = (name: string, help: string) => new Counter({ name: `${prefix}_${name}_total`, help, registers });
  const connects = counter('connect', 'Connections that were opened');
  const disconnects = counter('disconnect', 'Connections that ended');
  const cut = counter('cut_off', 'Connections that were ended because the client was too slow');
  const refused = counter('refused', 'Connections that were ended because the client broke a rule of the protocol');
  const failed = counter('failed', 'Connections that were ended because a handler failed; the log has the cause');
  /**
   * Messages by topic since the last collection. A plain map is cheaper than a counter: a message may go to thousands of clients.
   */
  const unasked = new Map<TopicKind, number>();
  new Counter({
    name: `${prefix}_events_sent`,
    help: 'Messages sent, by topic',
    labelNames: ['event'],
    registers,
    collect() {
      for (const [event, count] of unasked) this.inc({ event }, count);
      unasked.clear();
    },
  });
  return {
    connected() {
      connects.inc();
      open.inc();
    },
    disconnected() {
      disconnects.inc();
      open.dec();
    },
    cutOff: () => cut.inc(),
    refused: () => refused.inc(),
    failed: () => failed.inc(),
    sent: (kind) => void unasked.set(kind, (unasked.get(kind) ?? 0) + 1),
  };
}

/** Registers the metrics of readers of the chain's changes. */
export function changeMetrics(registry: Registry): ChangeMetrics {
  const registers = [registry];
  const readers = new Gauge({
    name: 'stackside_change_readers',
    help: 'Connected readers of changes: streams, and waiting requests',
    labelNames: ['form'],
    registers,
  });
  const sent = new Counter({
    name: 'stackside_changes_sent_total',
    help: 'Changes sent, by streams and on pages',
    labelNames: ['form'],
    registers,
  });
  for (const form of ['stream', 'wait']) readers.set({ form }, 0);
  for (const form of ['stream', 'page']) sent.inc({ form }, 0);
  return {
    opened: (form) => readers.inc({ form }),
    closed: (form) => readers.dec({ form }),
    sent: (form, changes) => sent.inc({ form }, changes),
  };
}
