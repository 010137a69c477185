/** The one place where errors of realtime connections end: an error ends its connection and nothing else. */
import { excerpt, MessageError } from './client-message.ts';
import type { ConnectionMetrics, Protocol } from './metrics.ts';

export type ConnectionEvent =
  | { event: 'connection_failed'; protocol: Protocol; cause: unknown }
  | { event: 'client_message_refused'; protocol: Protocol; reason: string };

/**
 * Runs the handler of a connection. What it throws is logged and counted, and the connection is ended.
 * @param end ends the connection; the reason is for the client
 */
export type Guard = (work: () => void, end: (reason: EndReason) => void) => void;

/** Whether the client broke a rule, or we failed. */
export type EndReason = 'refused' | 'failed';

/** WebSocket's codes of these reasons (RFC 6455, 7.4.1): policy violation, internal error. */
export const closeCodes: Readonly<Record<EndReason, number>> = { refused: 1008, failed: 1011 };

/** Creates the guard of the connections of one protocol. */
export function connectionGuard(
  protocol: Protocol,
  metrics: ConnectionMetrics,
  log: (event: ConnectionEvent) => void,
): Guard {
  function failed(cause: unknown): EndReason {
    if (cause instanceof MessageError) {
      metrics.refused();
      log({ event: 'client_message_refused', protocol, reason: excerpt(cause.message) });
      return 'refused';
    }
    metrics.failed();
    log({ event: 'connection_failed', protocol, cause });
    return 'failed';
  }

  return (work, end) => {
    try {
      work();
    } catch (cause) {
      const reason = failed(cause);
      try {
        end(reason);
      } catch (second) {
        failed(second);
      }
    }
  };
}
