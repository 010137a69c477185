/** Socket.IO clients at `/socket.io/`, by WebSocket or long polling. */
import { Server as Engine } from '@socket.io/bun-engine';
import { Server, type Socket } from 'socket.io';
import type { Message } from './message.ts';
import type { ConnectionMetrics } from './metrics.ts';
import { MOST_SUBSCRIPTIONS, type Subscriber, type Subscriptions } from './subscriptions.ts';
import { type Topic, topicNamed } from './topics.ts';

/** The transports that a client may use, and how large a message of one may be. */
const MAX_MESSAGE = 1_000_000;

export interface SocketIoOptions {
  subscriptions: Subscriptions;
  metrics: ConnectionMetrics;
  /** Milliseconds between two pings, and until one must be answered. */
  pingIntervalMs: number;
  pingTimeoutMs: number;
  /** Bytes that may wait for a client. */
  maxBacklog: number;
}

type Named = { name: string; topic: Topic };

/** Topics by name. @returns the names that are none, where there are any */
function topicsOf(names: readonly string[]): { topics: Named[]; invalid: string[] } {
  const topics: Named[] = [];
  const invalid: string[] = [];
  for (const name of names) {
    const topic = topicNamed(name);
    if (topic === null) invalid.push(name);
    else topics.push({ name, topic });
  }
  return { topics, invalid };
}

const invalidTopics = (names: readonly string[]): string => `Invalid topic: ${names.join(', ')}`;

/** The topics that a client names in the address it connects to, with commas or repeated. */
function namesInUrl(url: string): string[] {
  const given = new URL(url, 'http://localhost').searchParams.getAll('subscriptions');
  return given.flatMap((names) => names.split(',')).filter((name) => name !== '');
}

const textsIn = (value: unknown): string[] | null => {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.every((one) => typeof one === 'string') ? list : null;
};

class IoConnection implements Subscriber {
  /** Characters that were written since the transport took the last of what was. */
  #waiting = 0;

  constructor(
    readonly socket: Socket,
    readonly options: SocketIoOptions,
  ) {
    socket.conn.on('drain', () => {
      this.#waiting = 0;
    });
  }

  /** @returns why it can't */
  subscribe(names: readonly string[]): string | null {
    const { topics, invalid } = topicsOf(names);
    for (const { name, topic } of topics) {
      if (!this.options.subscriptions.add(this, topic, name)) {
        return `a connection may have ${MOST_SUBSCRIPTIONS} subscriptions`;
      }
    }
    return invalid.length === 0 ? null : invalidTopics(invalid);
  }

  unsubscribe(names: readonly string[]): void {
    for (const { topic } of topicsOf(names).topics) this.options.subscriptions.remove(this, topic);
  }

  deliver(message: Message, spelled: string): void {
    const text = message.socketIo(spelled);
    // Long polling: what comes between two requests of the client waits here.
    this.#waiting += text.length;
    if (this.#waiting > this.options.maxBacklog) {
      this.options.metrics.cutOff();
      this.socket.disconnect(true);
      return;
    }
    // The text is a whole packet already, so that it is made once for all clients.
    this.socket.conn.write(text);
    this.options.metrics.sent(message.topic.kind);
  }
}

export type SocketIo = ReturnType<typeof socketIo>;

export function socketIo(options: SocketIoOptions) {
  const { subscriptions, metrics, pingIntervalMs, pingTimeoutMs } = options;
  const engine = new Engine({
    path: '/socket.io/',
    pingInterval: pingIntervalMs,
    pingTimeout: pingTimeoutMs,
    maxHttpBufferSize: MAX_MESSAGE,
    cors: { origin: '*', methods: ['GET', 'HEAD', 'PUT', 'PATCH', 'POST', 'DELETE'] },
  });
  const io = new Server({ serveClient: false });
  io.bind(engine);

  io.use((socket, next) => {
    const { invalid } = topicsOf(namesInUrl(socket.conn.request.url ?? ''));
    next(invalid.length === 0 ? undefined : new Error(invalidTopics(invalid)));
  });
  io.on('connection', (socket) => {
    const connection = new IoConnection(socket, options);
    metrics.connected();
    connection.subscribe(namesInUrl(socket.conn.request.url ?? ''));
    socket.on('subscribe', (wanted: unknown, acknowledge: unknown) => {
      const names = textsIn(wanted);
      const refused = names === null ? invalidTopics([String(wanted)]) : connection.subscribe(names);
      if (typeof acknowledge === 'function') acknowledge(refused);
    });
    socket.on('unsubscribe', (...names: unknown[]) => connection.unsubscribe(textsIn(names.flat()) ?? []));
    socket.on('disconnect', () => {
      subscriptions.removeAll(connection);
      metrics.disconnected();
    });
  });
  return { engine, close: (): void => engine.close() };
}
