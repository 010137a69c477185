/** Connections to `/extended/v1/ws`: JSON-RPC over WebSocket. */
import { closeCodes, type Guard } from './guard.ts';
import { rpcAnswer, type Subscription } from './json-rpc.ts';
import type { Message } from './message.ts';
import type { ConnectionMetrics } from './metrics.ts';
import { type Subscriber, type Subscriptions, TOO_MANY_SUBSCRIPTIONS } from './subscriptions.ts';

/** The WebSocket close code for a server that stops (RFC 6455, 7.4.1). */
const GOING_AWAY = 1001;

type Socket = Bun.ServerWebSocket<RpcConnection>;

/** What all connections share. */
export interface RpcConnectionOptions {
  subscriptions: Subscriptions;
  metrics: ConnectionMetrics;
  /** Runs every handler. */
  guard: Guard;
}

/** One JSON-RPC connection over WebSocket; the data of its socket. */
export class RpcConnection implements Subscriber {
  topics: Subscriber['topics'];
  readonly #options: RpcConnectionOptions;
  #socket: Socket | null = null;
  /** Whether a pong arrived since the last ping. */
  #alive = true;

  /** Creates a connection without a socket yet. */
  constructor(options: RpcConnectionOptions) {
    this.#options = options;
  }

  opened(socket: Socket): void {
    this.#guarded(() => {
      this.#socket = socket;
      this.#options.metrics.connected();
    });
  }

  #guarded(work: () => void): void {
    this.#options.guard(work, (reason) => this.#socket?.close(closeCodes[reason]));
  }

  received(message: string | Buffer): void {
    this.#guarded(() => {
      this.#alive = true;
      const text = typeof message === 'string' ? message : message.toString('utf8');
      const answer = rpcAnswer(text, (method, subscription) => this.#perform(method, subscription));
      if (answer !== null) this.#send(answer);
    });
  }

  #perform(method: 'subscribe' | 'unsubscribe', { topic }: Subscription): string | null {
    if (method === 'unsubscribe') {
      this.#options.subscriptions.remove(this, topic);
      return null;
    }
    const added = this.#options.subscriptions.add(this, topic, topic.key);
    return added ? null : TOO_MANY_SUBSCRIPTIONS;
  }

  deliver(message: Message): void {
    this.#guarded(() => {
      if (this.#send(message.rpc())) this.#options.metrics.sent(message.topic.kind);
    });
  }

  /** Sends a text. @returns false where the client's backlog is full, and the client was disconnected */
  #send(text: string): boolean {
    // 0: dropped, since more waits for the client than may; -1: it waits, within the limit.
    if (this.#socket === null || this.#socket.send(text) !== 0) return this.#socket !== null;
    this.#cutOff();
    return false;
  }

  #cutOff(): void {
    this.#options.metrics.cutOff();
    // A close would wait in line behind what the client does not take.
    this.#socket?.terminate();
  }

  heard(): void {
    this.#alive = true;
  }

  /**
   * Pings the client. A client that did not answer the last ping is cut off, so that it can connect again.
   * @param late whether this ping is so late that the pong to the last one may not have been read yet
   */
  checkAlive(late: boolean): void {
    this.#guarded(() => {
      if (!this.#alive && !late) {
        this.#cutOff();
        return;
      }
      this.#alive = false;
      this.#socket?.ping();
    });
  }

  /** Closes the connection, as when the server stops. */
  close(): void {
    this.#socket?.close(GOING_AWAY, 'The server stops');
  }

  closed(): void {
    this.#guarded(() => {
      this.#options.subscriptions.removeAll(this);
      this.#socket = null;
      this.#options.metrics.disconnected();
    });
  }
}
