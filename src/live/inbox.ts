/** Messages of realtime clients that wait for their turn. */
import type { Turns } from '../base/turns.ts';
import { MAX_TEXT, MessageError } from './client-message.ts';

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
      if (waiting.size > MOST_WAITING) throw new MessageError('more messages wait than a client may send at once');
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
