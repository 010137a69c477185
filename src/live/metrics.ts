/** Metrics of realtime. */
import type { TopicKind } from './topics.ts';

export type Protocol = 'websocket' | 'socket_io';

/** Metrics of the connections of one protocol. */
export interface ConnectionMetrics {
  connected(): void;
  disconnected(): void;
  /** Counts a connection that was ended because its client read too slowly. */
  cutOff(): void;
  /** Counts a connection that was ended because its client broke a rule. */
  refused(): void;
  /** Counts a connection that was ended because a handler failed. */
  failed(): void;
  sent(kind: TopicKind): void;
}

export interface LiveMetrics {
  connections(protocol: Protocol): ConnectionMetrics;
  /** Registers the gauge of subscriptions. @param counts reads the number of subscriptions by topic */
  subscriptions(counts: () => Record<TopicKind, number>): void;
}
