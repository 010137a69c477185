/**
 * Messages of realtime clients: their limits, their parsing, their turns and their errors. A message is checked against
 * limits before it is parsed, so that no text costs more than its length. An error ends its connection and nothing else,
 * and is counted.
 */
import { isTooDeep, MAX_DEPTH } from '../base/json.ts';
import type { UnexpectedEvent } from '../base/log-events.ts';
import type { Turns } from '../base/turns.ts';
import { MAX_SUBSCRIPTIONS, type TopicKind } from './subscriptions.ts';

/** Maximum bytes of a client's frame or body; Socket.IO sends this limit to its clients. */
export const MAX_MESSAGE = 1_000_000;
/**
 * Maximum characters of a JSON text, enough for a thousand subscriptions. A longer text is refused by its length without being
 * parsed, since clients that send many long texts would delay all others.
 */
export const MAX_TEXT = 100_000;
/** Maximum characters of a client's text that an answer or a log line repeats. */
const MAX_EXCERPT = 1_000;

/** The error for a message that breaks a rule; its text names the rule. */
export class MessageError extends Error {
  override readonly name = 'MessageError';
}

/**
 * Parses a client's JSON text.
 * @throws MessageError if the text is too long or nested too deep, SyntaxError if it is not JSON
 */
export function parsedMessage(text: string): unknown {
  if (text.length > MAX_TEXT) throw new MessageError(`a message must NOT have more than ${MAX_TEXT} characters`);
  if (isTooDeep(text)) throw new MessageError(`a message must NOT be nested deeper than ${MAX_DEPTH} levels`);
  return JSON.parse(text);
}

/** Counts messages of a client. @throws MessageError beyond the client's limit */
export type CountMessages = (messages: number) => void;

/** Returns a client's text, cut to a length that an answer or a log line may repeat. */
export const excerpt = (text: string): string => (text.length <= MAX_EXCERPT ? text : `${text.slice(0, MAX_EXCERPT)}…`);

/**
 * Maximum sum of the sizes of a client's waiting messages: all its subscriptions, with 300 characters each, may wait. A client
 * that sends more is disconnected, since the runtime can't be told to stop reading.
 */
export const MAX_WAITING = 400 * MAX_SUBSCRIPTIONS;
/** Size that every message has in addition to its characters. It bounds the number of short messages. */
const OVERHEAD = 100;

/** Control frames of WebSocket (RFC 6455, 5.5). The runtime answers a PING by itself. */
export const PING = Symbol('PING');
export const PONG = Symbol('PONG');
export type ControlFrame = typeof PING | typeof PONG;

/** A message as received: text has a length in characters, a buffer in bytes. Control frames take turns like messages. */
export type Received = string | Buffer | ControlFrame;
interface Queue {
  messages: Received[];
  /** Sum of the messages' sizes. */
  size: number;
}

/**
 * Returns the size of a message for the limit. A text beyond the maximum counts as the maximum, since it is refused without
 * parsing. Nobody reads the content of a control frame.
 */
const sizeOf = (message: Received): number =>
  (typeof message === 'symbol' ? 0 : Math.min(message.length, MAX_TEXT)) + OVERHEAD;

/**
 * Receives the messages of connections, and handles each in its turn.
 * @param handle handles one message of a connection; must not throw
 */
export function inboxesOf<Connection extends object>(
  turns: Turns,
  handle: (connection: Connection, message: Received) => void,
) {
  const queues = new Map<Connection, Queue>();

  /** Handles a message, and then the messages that arrived until its turn. Each has a separate turn. */
  async function handleLater(connection: Connection, first: Received, turn: Promise<void>): Promise<void> {
    const waiting: Queue = { messages: [first], size: sizeOf(first) };
    queues.set(connection, waiting);
    await turn;
    while (queues.get(connection) === waiting) {
      const message = waiting.messages.shift()!;
      waiting.size -= sizeOf(message);
      handle(connection, message);
      if (waiting.messages.length === 0) queues.delete(connection);
      else await turns.later();
    }
  }

  return {
    /**
     * Handles a message at once if none waits, or else after the waiting ones.
     * @throws MessageError if this client has too many waiting messages
     */
    receive(connection: Connection, message: Received): void {
      const waiting = queues.get(connection);
      if (waiting !== undefined) {
        waiting.messages.push(message);
        waiting.size += sizeOf(message);
        if (waiting.size > MAX_WAITING)
          throw new MessageError('a client must NOT send messages faster than they are handled');
        return;
      }
      const turn = turns.next();
      if (turn === undefined) handle(connection, message);
      else void handleLater(connection, message, turn);
    },

    /** Drops the waiting messages of a closed connection. */
    drop: (connection: Connection): void => void queues.delete(connection),
  };
}

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

export interface LiveMetrics {
  connections(protocol: Protocol): ConnectionMetrics;
  /** Registers the gauge of subscriptions. @param counts reads the number of subscriptions by topic */
  subscriptions(counts: () => Record<TopicKind, number>): void;
}
