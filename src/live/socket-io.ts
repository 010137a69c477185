/** Socket.IO clients at `/socket.io/`, by WebSocket or long polling. */
import { Server as Engine } from '@socket.io/bun-engine';
import type { WebSocketData } from '@socket.io/bun-engine/dist/transports/websocket';
import { Server, type Socket } from 'socket.io';
import { BodyError, bodyText } from '../http/request-body.ts';
import { excerpt, MAX_MESSAGE, MessageError } from './client-message.ts';
import { closeCodes, type EndReason, type Guard } from './guard.ts';
import { checkBody, PacketCheck, topicNames } from './io-packets.ts';
import type { Message } from './message.ts';
import type { ConnectionMetrics } from './metrics.ts';
import { type Subscriber, type Subscriptions, TOO_MANY_SUBSCRIPTIONS } from './subscriptions.ts';
import { type Topic, topicNamed } from './topics.ts';

export interface SocketIoOptions {
  subscriptions: Subscriptions;
  metrics: ConnectionMetrics;
  /** Runs every handler. */
  guard: Guard;
  /** Milliseconds between two pings, and until one must be answered. */
  pingIntervalMs: number;
  pingTimeoutMs: number;
  /** Bytes that may wait for a client. */
  maxBacklog: number;
}

type WebSocket = Bun.ServerWebSocket<WebSocketData>;
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

const invalidTopics = (names: readonly string[]): string => `Invalid topic: ${excerpt(names.join(', '))}`;

/** The topics that a client names in the address it connects to, with commas or repeated. */
function namesInUrl(url: string): string[] {
  const given = new URL(url, 'http://localhost').searchParams.getAll('subscriptions');
  return given.flatMap((names) => names.split(',')).filter((name) => name !== '');
}

/** What the library has for a client, whichever way its packets go. */
interface EngineConnection {
  write(text: string): unknown;
  close(): void;
  /** The library puts another one in its place when a WebSocket takes over. */
  readonly transport: { close(): void };
}

/** One client, from its first request on. */
class IoConnection implements Subscriber {
  /** The library's socket; null until the client has joined the namespace. */
  socket: Socket | null = null;
  readonly check = new PacketCheck();
  readonly #engine: EngineConnection;
  readonly #options: SocketIoOptions;
  /** Characters that were written since the transport took the last of what was. */
  #waiting = 0;
  #ended = false;

  constructor(engine: EngineConnection, options: SocketIoOptions) {
    this.#engine = engine;
    this.#options = options;
  }

  /** Runs a handler of this connection. */
  guard(work: () => void): void {
    this.#options.guard(work, () => this.end());
  }

  /** Subscribes to topics by name. @returns the reason why it failed, or null */
  subscribe(names: readonly string[]): string | null {
    const { topics, invalid } = topicsOf(names);
    for (const { name, topic } of topics) {
      if (!this.#options.subscriptions.add(this, topic, name)) return TOO_MANY_SUBSCRIPTIONS;
    }
    return invalid.length === 0 ? null : invalidTopics(invalid);
  }

  unsubscribe(names: readonly string[]): void {
    for (const { topic } of topicsOf(names).topics) this.#options.subscriptions.remove(this, topic);
  }

  deliver(message: Message, spelled: string): void {
    this.guard(() => {
      // The text is a whole packet already, so that it is made once for all clients.
      this.#engine.write(message.socketIo(spelled));
      if (!this.#ended) this.#options.metrics.sent(message.topic.kind);
    });
  }

  /**
   * Counts characters to be written, by Stackside or by the library; with long polling they wait for the client's next
   * request.
   */
  queued(characters: number): void {
    this.#waiting += characters;
    if (this.#waiting <= this.#options.maxBacklog || this.#ended) return;
    this.#options.metrics.cutOff();
    this.end();
  }

  /** Called when the transport has taken everything that waited. */
  drained(): void {
    this.#waiting = 0;
  }

  /** Closes the connection. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (this.socket?.connected === true) this.socket.disconnect(true);
    else this.#engine.close();
  }

  closed(): void {
    this.#ended = true;
    this.#options.subscriptions.removeAll(this);
  }
}

export type SocketIo = ReturnType<typeof socketIo>;

/** The Socket.IO server, as handlers of HTTP requests and WebSockets. */
export function socketIo(options: SocketIoOptions) {
  const { metrics, guard, pingIntervalMs, pingTimeoutMs } = options;
  const engine = new Engine({
    path: '/socket.io/',
    pingInterval: pingIntervalMs,
    pingTimeout: pingTimeoutMs,
    maxHttpBufferSize: MAX_MESSAGE,
    cors: { origin: '*', methods: ['GET', 'HEAD', 'PUT', 'PATCH', 'POST', 'DELETE'] },
  });
  /** Connections by the library's object for each. */
  const connections = new WeakMap<object, IoConnection>();
  const open = new Set<EngineConnection>();
  /** WebSockets that asked to take over from long polling: the library starts a timer for each time they ask. */
  const probing = new WeakSet<WebSocket>();

  // Before the library hears of the connection, so that each packet is checked before the library takes it.
  engine.on('connection', (engineSocket) => {
    const connection = new IoConnection(engineSocket, options);
    connections.set(engineSocket, connection);
    open.add(engineSocket);
    engineSocket.on('close', () => open.delete(engineSocket));
    engineSocket.on('data', (packet) => {
      try {
        connection.check.take(packet);
      } catch (error) {
        // A WebSocket is closed by whoever called, with the code of the reason.
        if (engineSocket.transport.name === 'polling') connection.end();
        throw error;
      }
    });
    engineSocket.on('packetCreate', ({ data }) =>
      connection.guard(() => connection.queued(typeof data === 'string' ? data.length : 0)),
    );
    engineSocket.on('drain', () => connection.guard(() => connection.drained()));
  });

  const io = new Server({ serveClient: false });
  io.bind(engine);
  /** Runs a handler of the library's, which calls it on a tick of its own. */
  const guarded = (socket: Socket, work: (connection: IoConnection) => void): void => {
    const connection = connections.get(socket.conn);
    if (connection === undefined) socket.conn.close();
    else connection.guard(() => work(connection));
  };

  io.use((socket, next) =>
    guarded(socket, () => {
      const { invalid } = topicsOf(namesInUrl(socket.conn.request.url ?? ''));
      next(invalid.length === 0 ? undefined : new Error(invalidTopics(invalid)));
    }),
  );
  io.on('connection', (socket) => {
    const on = (event: string, handler: (connection: IoConnection, ...args: unknown[]) => void) =>
      socket.on(event, (...args: unknown[]) => guarded(socket, (connection) => handler(connection, ...args)));
    on('subscribe', (connection, wanted, acknowledge) => {
      const names = topicNames(wanted);
      const refused =
        names === null ? invalidTopics(['it must be a text or a list of texts']) : connection.subscribe(names);
      if (typeof acknowledge === 'function') acknowledge(refused);
    });
    on('unsubscribe', (connection, ...wanted) =>
      connection.unsubscribe(wanted.flatMap((one) => topicNames(one) ?? [])),
    );
    on('disconnect', (connection) => {
      connection.closed();
      metrics.disconnected();
    });
    guarded(socket, (connection) => {
      metrics.connected();
      connection.socket = socket;
      connection.subscribe(namesInUrl(socket.conn.request.url ?? ''));
    });
  });

  const ends = (socket: WebSocket) => (reason: EndReason) => void socket.close(closeCodes[reason]);

  /** Throws MessageError where a WebSocket asks twice to take over from long polling. */
  function checkProbe(socket: WebSocket, message: string | Buffer): void {
    if (typeof message !== 'string' || !message.startsWith('2')) return;
    if (probing.has(socket)) throw new MessageError('a WebSocket must NOT be probed twice');
    probing.add(socket);
  }

  /** Reads the body of a request of long polling first, so that the library takes none that is too long. */
  async function checkedRequest(request: Request): Promise<Request> {
    if (request.method !== 'POST') return request;
    const text = await bodyText(request, MAX_MESSAGE);
    checkBody(text);
    const { url, method, headers, signal } = request;
    return new Request(url, { method, headers, signal, body: text });
  }

  return {
    /** Throws BodyError and MessageError where the client is to blame. */
    async handle(request: Request, server: Bun.Server<WebSocketData>): Promise<Response> {
      return engine.handleRequest(await checkedRequest(request), server);
    },
    opened: (socket: WebSocket) => guard(() => engine.onWebSocketOpen(socket), ends(socket)),
    received: (socket: WebSocket, message: string | Buffer) =>
      guard(() => {
        checkProbe(socket, message);
        engine.onWebSocketMessage(socket, message);
      }, ends(socket)),
    closed: (socket: WebSocket, code: number, reason: string) =>
      guard(() => engine.onWebSocketClose(socket, code, reason), ends(socket)),
    close(): void {
      engine.close();
      // The library waits for a client of long polling to fetch what is queued for it, however long that takes.
      for (const { transport } of open) transport.close();
    },
  };
}

/** The answer to a request that the client is to blame for; undefined for other errors. */
export function ioRefusal(error: unknown): { status: 400 | 413; message: string } | undefined {
  if (error instanceof MessageError) return { status: 400, message: excerpt(error.message) };
  if (!(error instanceof BodyError)) return undefined;
  return error.reason === 'too_large'
    ? { status: 413, message: `A body must not be longer than ${MAX_MESSAGE} bytes` }
    : { status: 400, message: 'The body is not complete' };
}
