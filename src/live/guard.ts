/** Error handling of realtime connections: an error ends its connection and nothing else, and is counted. */
import type { UnexpectedEvent } from '../base/log-events.ts';
import { excerpt, MessageError } from './client-message.ts';
import type { TopicKind } from './topics.ts';

export type ConnectionEvent = UnexpectedEvent | { event: 'client_message_refused'; protocol: Protocol; reason: string };

/**
 * Runs a handler of a connection. Errors are logged and counted, and end the connection.
 * @param end ends the connection; the reason is for the client
 */
export type Guard = (work: () => void, end: (reason: EndReason) => void) => void;

/** `refused`: the client broke a rule; `failed`: an error of ours. */
export type EndReason = 'refused' | 'failed';

/** WebSocket close codes of these reasons (RFC 6455, 7.4.1): policy violation, internal error. */
export const closeCodes: Readonly<Record<EndReason, number>> = { refused: 1008, failed: 1011 };

/** Creates the guard of the connections of one protocol. */
export function connectionGuard(
  protocol: Protocol,
  metrics: ConnectionMetrics,
  log: (event: ConnectionEvent) => void,
): Guard {
  function recordFailure(cause: unknown): EndReason {
    if (cause instanceof MessageError) {
      metrics.refused();
      log({ event: 'client_message_refused', protocol, reason: excerpt(cause.message) });
      return 'refused';
    }
    metrics.failed();
    log({ event: 'unexpected_error', part: 'realtime', protocol, cause });
    return 'failed';
  }

  return (work, end) => {
    try {
      work();
    } catch (cause) {
      const reason = recordFailure(cause);
      try {
        end(reason);
      } catch (second) {
        recordFailure(second);
      }
    }
  };
}

/** Realtime protocols, as metrics and log events name them. */
export type Protocol = 'websocket' | 'socket_io';

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

/** Metrics of both realtime protocols. */
export interface LiveMetrics {
  connections(protocol: Protocol): ConnectionMetrics;
  /** Registers the gauge of subscriptions. @param counts reads the number of subscriptions by topic */
  subscriptions(counts: () => Record<TopicKind, number>): void;
}
