/**
 * Messages of realtime clients: how they are bounded and parsed, and how they wait for their turn.
 * A message is bounded before it is parsed, so that no text costs more than its length.
 */
import { isTooDeep, MAX_DEPTH } from '../base/json.ts';
import type { Turns } from '../base/turns.ts';

/** The longest frame or body of a client, in bytes; Socket.IO tells its clients so. */
export const MAX_MESSAGE = 1_000_000;
/**
 * Characters of the longest JSON text that is read. A thousand subscriptions fit into it; a longer text is refused by its
 * length alone, since clients that send many such texts would make all others wait.
 */
export const MAX_TEXT = 100_000;
/** Characters of a client's own text that an answer or a log line repeats at most. */
const MAX_EXCERPT = 1_000;

/** The error for a message that breaks a rule; its text names the rule. */
export class MessageError extends Error {
  override readonly name = 'MessageError';
}

/**
 * The value of a client's JSON text.
 * @throws MessageError where it is too long or nested too deep, SyntaxError where it is no JSON
 */
export function parsedMessage(text: string): unknown {
  if (text.length > MAX_TEXT) throw new MessageError(`a message must NOT have more than ${MAX_TEXT} characters`);
  if (isTooDeep(text)) throw new MessageError(`a message must NOT be nested deeper than ${MAX_DEPTH} levels`);
  return JSON.parse(text);
}

/** A client's text, cut to a length that may be repeated in an answer or a log line. */
export const excerpt = (text: string): string => (text.length <= MAX_EXCERPT ? text : `${text.slice(0, MAX_EXCERPT)}…`);

/**
 * The sizes of messages that may wait of one client, in sum: more than all its subscriptions take, one message each. A
 * client that sends more than is handled is disconnected, since the runtime can't be told not to read.
 */
export const MOST_WAITING = 4 * MAX_TEXT;
/** What a message counts beside its characters, so that many short ones are bounded, too. */
const OVERHEAD = 100;

/** A message as it came; text has a length in characters, and a buffer in bytes. */
type Received = string | Buffer;
interface Waiting {
  messages: Received[];
  /** The sum of their sizes. */
  size: number;
}

/** What a message counts. A text that is too long counts as one that is not: its length alone refuses it. */
const sizeOf = (message: Received): number => Math.min(message.length, MAX_TEXT) + OVERHEAD;

/** Takes the messages of connections, and has each handled in its turn. @template Connection one client */
export class Inboxes<Connection extends object> {
  readonly #turns: Turns;
  readonly #handle: (connection: Connection, message: Received) => void;
  /** Connections whose messages wait. */
  readonly #waiting = new Map<Connection, Waiting>();

  /** @param handle handles one message of a connection; it throws nothing */
  constructor(turns: Turns, handle: (connection: Connection, message: Received) => void) {
    this.#turns = turns;
    this.#handle = handle;
  }

  /**
   * Handles a message at once where nobody waits, else after those that came before it.
   * @throws MessageError where too much of this client waits
   */
  receive(connection: Connection, message: Received): void {
    const waiting = this.#waiting.get(connection);
    if (waiting !== undefined) {
      waiting.messages.push(message);
      waiting.size += sizeOf(message);
      if (waiting.size > MOST_WAITING)
        throw new MessageError('a client must NOT send messages faster than they are handled');
      return;
    }
    const turn = this.#turns.next();
    if (turn === undefined) this.#handle(connection, message);
    else void this.#later(connection, message, turn);
  }

  /** Forgets what waits of a client that is gone. */
  forget(connection: Connection): void {
    this.#waiting.delete(connection);
  }

  /** Handles a message and those that come meanwhile, each in a turn of its own. */
  async #later(connection: Connection, first: Received, turn: Promise<void>): Promise<void> {
    const waiting: Waiting = { messages: [first], size: sizeOf(first) };
    this.#waiting.set(connection, waiting);
    await turn;
    while (this.#waiting.get(connection) === waiting) {
      const message = waiting.messages.shift()!;
      waiting.size -= sizeOf(message);
      this.#handle(connection, message);
      if (waiting.messages.length === 0) this.#waiting.delete(connection);
      else await this.#turns.later();
    }
  }
}
