/** What realtime connections are counted by. */
import type { TopicKind } from './topics.ts';

export type Protocol = 'websocket' | 'socket_io';

/** What the connections of a protocol are counted by. */
export interface ConnectionMetrics {
  connected(): void;
  disconnected(): void;
  /** A client took what it was sent too slowly, and its connection was ended. */
  cutOff(): void;
  /** A client broke a rule, and its connection was ended. */
  refused(): void;
  /** A handler of ours failed, and the connection was ended. */
  failed(): void;
  sent(kind: TopicKind): void;
}

export interface LiveMetrics {
  connections(protocol: Protocol): ConnectionMetrics;
  /** @param counts reads the subscriptions of all connections by topic */
  subscriptions(counts: () => Record<TopicKind, number>): void;
}
