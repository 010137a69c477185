/** Socket.IO (protocol 5) at `/socket.io/`, by WebSocket or long polling: the server, its clients, and their packets. */

import { Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { Server as Engine } from '@socket.io/bun-engine';
import type { Socket as EngineSocket } from '@socket.io/bun-engine/dist/socket';
import type { WebSocketData } from '@socket.io/bun-engine/dist/transports/websocket';
import type { Clock } from '../base/clock.ts';
import { ApiError } from '../http/errors.ts';
import { BodyError, bodyText } from '../http/request-body.ts';
import {
  type ConnectionMetrics,
  type CountMessages,
  closeCodes,
  type EndReason,
  excerpt,
  type Guard,
  MAX_MESSAGE,
  MessageError,
  parsedMessage,
} from './connection.ts';
import {
  MAX_SUBSCRIPTIONS,
  type Message,
  type Subscriber,
  type Subscriptions,
  type Topic,
  topicNamed,
} from './subscriptions.ts';

interface SocketIoOptions extends IoConnectionOptions {
  /** Milliseconds between two pings, within which a client must answer. */
  pingIntervalMs: number;
  pingTimeoutMs: number;
}

export interface IoSocketData extends WebSocketData {
  count: CountMessages;
}

type WebSocket = Bun.ServerWebSocket<IoSocketData>;

/** The library's clients by session id. */
const clientsOf = (engine: Engine) => Reflect.get(engine, 'clients') as Map<string, EngineSocket>;

/**
 * Drops a client's first request. The library would hold some kilobytes until the client is gone: the request's headers, and
 * the scope of its listener, which removes the client. Call this before other listeners are added, and remove the client then.
 */
function releaseRequest(engineSocket: EngineSocket): void {
  engineSocket.off('close');
  Object.assign(engineSocket.request, { headers: {}, _query: {} });
}

export type SocketIo = ReturnType<typeof socketIo>;

/** The Socket.IO server, as handlers of HTTP requests and WebSockets. The library does Engine.IO, its transport protocol. */
export function socketIo(options: SocketIoOptions) {
  const { guard, pingIntervalMs, pingTimeoutMs } = options;
  const engine = new Engine({
    path: '/socket.io/',
    pingInterval: pingIntervalMs,
    pingTimeout: pingTimeoutMs,
    maxHttpBufferSize: MAX_MESSAGE,
    cors: { origin: '*', methods: ['GET', 'HEAD', 'PUT', 'PATCH', 'POST', 'DELETE'] },
  });
  const clients = clientsOf(engine);
  /** WebSockets that requested to take over from long polling (a probe); the library starts a timer at each probe. */
  const probing = new WeakSet<WebSocket>();
  /** Transports whose client has not yet answered the last ping of the library. */
  const pinged = new WeakSet<object>();

  engine.on('connection', (engineSocket) => {
    const connection = new IoConnection(engineSocket, options);
    releaseRequest(engineSocket);
    engineSocket.on('close', () => {
      clients.delete(engineSocket.id);
      connection.guard(() => connection.closed());
    });
    engineSocket.on('data', (packet) => {
      try {
        connection.received(packet);
      } catch (error) {
        // The caller closes a WebSocket, with the code of the reason.
        if (engineSocket.transport.name === 'polling') engineSocket.transport.close();
        throw error;
      }
    });
    engineSocket.on('packetCreate', ({ type, data }) => {
      if (type === 'ping') pinged.add(engineSocket.transport);
      connection.guard(() => connection.queued(typeof data === 'string' ? data.length : 0));
    });
    engineSocket.on('drain', () => connection.guard(() => connection.drained()));
  });

  const ends = (socket: WebSocket) => (reason: EndReason) => void socket.close(closeCodes[reason]);

  /** Throws MessageError if a WebSocket probes twice. */
  function checkProbe(socket: WebSocket, message: string | Buffer): void {
    if (typeof message !== 'string' || !message.startsWith('2')) return;
    if (probing.has(socket)) throw new MessageError('a WebSocket must NOT be probed twice');
    probing.add(socket);
  }

  /** Reads the body of a long-polling request before the library does, to refuse long ones. */
  async function checkedRequest(request: Request, count: CountMessages): Promise<Request> {
    if (request.method !== 'POST') return request;
    const text = await bodyText(request, MAX_MESSAGE);
    // The request itself counts as the first packet.
    count(countPackets(text) - 1);
    const { url, method, headers, signal } = request;
    return new Request(url, { method, headers, signal, body: text });
  }

  return {
    /**
     * Handles a request.
     * @param count counts packets of the request, and messages of the WebSocket that it opens
     * @throws BodyError, MessageError for errors of the client
     */
    async handle(request: Request, server: Bun.Server<IoSocketData>, count: CountMessages): Promise<Response> {
      // The library only upgrades requests, and passes its data. The count of the connection is added to this data.
      const upgrading = {
        upgrade: (upgraded: Request, { headers, data }: { headers: Headers; data: WebSocketData }) =>
          server.upgrade(upgraded, { headers, data: { ...data, count } }),
      };
      return engine.handleRequest(
        await checkedRequest(request, count),
        upgrading as unknown as Bun.Server<WebSocketData>,
      );
    },
    opened: (socket: WebSocket) => guard(() => engine.onWebSocketOpen(socket), ends(socket)),
    received: (socket: WebSocket, message: string | Buffer) =>
      guard(() => {
        // The answer to a ping of the server doesn't count.
        if (message !== ENGINE_PONG || !pinged.delete(socket.data.transport)) socket.data.count(1);
        checkProbe(socket, message);
        engine.onWebSocketMessage(socket, message);
      }, ends(socket)),
    receivedControlFrame: (socket: WebSocket) => guard(() => socket.data.count(1), ends(socket)),
    closed: (socket: WebSocket, code: number, reason: string) =>
      guard(() => engine.onWebSocketClose(socket, code, reason), ends(socket)),
    close(): void {
      const all = [...clients.values()];
      engine.close();
      // Otherwise the library would wait until a long-polling client fetches its queued packets, however long that takes.
      for (const { transport } of all) transport.close();
    },
  };
}

/** The answer for an error of the client; undefined for other errors. */
export function ioRefusal(error: unknown): ApiError | undefined {
  // The client's limit, with Retry-After.
  if (error instanceof MessageError && error.cause instanceof ApiError) return error.cause;
  if (error instanceof MessageError) return new ApiError(400, excerpt(error.message));
  if (!(error instanceof BodyError)) return undefined;
  return error.reason === 'too_large'
    ? new ApiError(413, `A body must not be longer than ${MAX_MESSAGE} bytes`)
    : new ApiError(400, 'The body is not complete');
}

interface IoConnectionOptions {
  subscriptions: Subscriptions;
  metrics: ConnectionMetrics;
  guard: Guard;
  /** Maximum characters that may wait for a client. */
  maxBacklog: number;
  clock: Clock;
}

interface EngineConnection {
  readonly request: { readonly url: string };
  write(text: string): unknown;
  close(): void;
}

/** Milliseconds in which a client must have joined the namespace. */
export const JOIN_MS = 45_000;

type NamedTopic = { name: string; topic: Topic };

/** Parses names of topics. @returns the topics, and the invalid names */
function parseTopics(names: readonly string[]): { topics: NamedTopic[]; invalid: string[] } {
  const topics: NamedTopic[] = [];
  const invalid: string[] = [];
  for (const name of names) {
    const topic = topicNamed(name);
    if (topic === null) invalid.push(name);
    else topics.push({ name, topic });
  }
  return { topics, invalid };
}

const invalidTopics = (names: readonly string[]): string => `Invalid topic: ${excerpt(names.join(', '))}`;

/** Returns the topic names in the URL of a connection, comma-separated or repeated. */
function namesInUrl(url: string): string[] {
  const subscriptions = new URL(url, 'http://localhost').searchParams.getAll('subscriptions');
  return subscriptions.flatMap((names) => names.split(',')).filter((name) => name !== '');
}

/** A client's connection from its first request on. */
export class IoConnection implements Subscriber {
  topics: Subscriber['topics'];
  readonly #engine: EngineConnection;
  readonly #options: IoConnectionOptions;
  /** Cancels the timer that ends the connection unless it joins the namespace; null once it has joined. */
  #cancelTimer: (() => void) | null;
  /** Whether the client has requested to join the namespace and has not left it. */
  #hasRequestedJoin = false;
  #isJoined = false;
  /** Characters written since the transport last sent everything. */
  #waiting = 0;
  #isEnded = false;

  constructor(engine: EngineConnection, options: IoConnectionOptions) {
    this.#engine = engine;
    this.#options = options;
    this.#cancelTimer = options.clock.after(JOIN_MS, () => this.guard(() => this.end()));
  }

  guard(work: () => void): void {
    this.#options.guard(work, () => this.end());
  }

  /** Handles the content of an Engine.IO packet. @throws MessageError if it breaks a rule */
  received(data: unknown): void {
    const packet = readPacket(data);
    if (packet.type === 'connect' && packet.namespace === NAMESPACE) this.#requestJoin();
    this.guard(() => this.#perform(packet));
  }

  #requestJoin(): void {
    if (this.#hasRequestedJoin) throw new MessageError('a connection must NOT join a namespace twice');
    this.#hasRequestedJoin = true;
  }

  #perform(packet: IoPacket): void {
    if (packet.type === 'connect') {
      if (packet.namespace === NAMESPACE) this.#join();
      else this.#engine.write(refusedPacket(packet.namespace, 'Invalid namespace'));
    } else if (packet.namespace !== NAMESPACE || !this.#isJoined) this.end();
    else if (packet.type === 'disconnect') this.#leave();
    else this.#answer(packet);
  }

  #join(): void {
    const { topics, invalid } = parseTopics(namesInUrl(this.#engine.request.url));
    const refusal = invalid.length > 0 ? invalidTopics(invalid) : this.#add(topics);
    if (refusal !== null) {
      this.#options.subscriptions.removeAll(this);
      this.#engine.write(refusedPacket(NAMESPACE, refusal));
      return;
    }
    this.#stopWaiting();
    this.#isJoined = true;
    this.#options.metrics.connected();
    this.#engine.write(joinedPacket(crypto.randomUUID()));
  }

  #stopWaiting(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  #answer({ id, name, args }: Extract<IoPacket, { type: 'event' }>): void {
    if (name === 'unsubscribe') this.#unsubscribe(args.flatMap((argument) => topicNames(argument) ?? []));
    if (name !== 'subscribe') return;
    const names = topicNames(args[0]);
    const refusal = names === null ? invalidTopics(['it must be a text or a list of texts']) : this.#subscribe(names);
    if (id !== '') this.#engine.write(answerPacket(id, refusal));
  }

  /** Subscribes to topics by name. @returns null, or the reason of the failure */
  #subscribe(names: readonly string[]): string | null {
    const { topics, invalid } = parseTopics(names);
    return this.#add(topics) ?? (invalid.length === 0 ? null : invalidTopics(invalid));
  }

  /** Subscribes to topics. @returns null, or the reason of the failure */
  #add(topics: readonly NamedTopic[]): string | null {
    const { subscriptions } = this.#options;
    for (const { name, topic } of topics) {
      const refusal = subscriptions.add(this, topic, name);
      if (refusal !== null) return refusal;
    }
    return null;
  }

  #unsubscribe(names: readonly string[]): void {
    for (const { topic } of parseTopics(names).topics) this.#options.subscriptions.remove(this, topic);
  }

  #leave(): void {
    this.#hasRequestedJoin = false;
    if (!this.#isJoined) return;
    this.#isJoined = false;
    this.#options.subscriptions.removeAll(this);
    this.#options.metrics.disconnected();
  }

  deliver(message: Message, spelled: string): void {
    this.guard(() => {
      // The text is a complete packet, made once for all clients.
      this.#engine.write(message.socketIo(spelled));
      if (!this.#isEnded) this.#options.metrics.sent(message.topic.kind);
    });
  }

  /** Counts written characters; with long polling they wait for the client's next request. */
  queued(characters: number): void {
    this.#waiting += characters;
    if (this.#waiting <= this.#options.maxBacklog || this.#isEnded) return;
    this.#options.metrics.cutOff();
    this.end();
  }

  /** Called when the transport has sent everything. */
  drained(): void {
    this.#waiting = 0;
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (this.#isJoined) this.#engine.write(LEFT_PACKET);
    this.#leave();
    this.#engine.close();
  }

  /** Called when the connection is closed, by either side. */
  closed(): void {
    this.#isEnded = true;
    this.#stopWaiting();
    this.#leave();
  }
}

/** The client's answer to a ping of the server (Engine.IO protocol 4). */
const ENGINE_PONG = '3';
/** The separator between packets in the body of a long-polling request (Engine.IO protocol 4). */
const SEPARATOR = '\x1e';
/** Maximum packets of a body: those for the maximum of subscriptions, and a few more. */
export const MAX_PACKETS = MAX_SUBSCRIPTIONS + 10;

/** Returns the number of packets in a long-polling body. @throws MessageError if there are too many */
function countPackets(text: string): number {
  let packets = 1;
  for (let index = text.indexOf(SEPARATOR); index >= 0; index = text.indexOf(SEPARATOR, index + 1)) {
    packets++;
    if (packets > MAX_PACKETS) throw new MessageError(`a body must NOT have more than ${MAX_PACKETS} packets`);
  }
  return packets;
}

/** Type, namespace, id of the acknowledgement, and the JSON data (Socket.IO protocol 5). */
const PACKET = /^([0-6])(?:(\/[^,]{0,100}),?)?(\d{0,15})(?=[[{]|$)/;
const [CONNECT, DISCONNECT, EVENT, ACK, CONNECT_ERROR] = ['0', '1', '2', '3', '4'] as const;

const Handshake = TypeCompiler.Compile(Type.Record(Type.String(), Type.Unknown()));
const Event = TypeCompiler.Compile(
  Type.Unsafe<[string, ...unknown[]]>(
    Type.Array(Type.Unknown(), { minItems: 1, maxItems: MAX_SUBSCRIPTIONS + 1, contains: Type.String() }),
  ),
);

const Topics = TypeCompiler.Compile(
  Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: MAX_SUBSCRIPTIONS })]),
);

/** Topic names in an argument of an event; null if it has none of the accepted forms. */
function topicNames(argument: unknown): string[] | null {
  if (!Topics.Check(argument)) return null;
  return typeof argument === 'string' ? [argument] : argument;
}

/** The namespace that every client joins; there is no other. */
const NAMESPACE = '/';

type IoPacket =
  | { type: 'connect'; namespace: string }
  | { type: 'disconnect'; namespace: string }
  /** @param id number of the acknowledgement; empty if the client wants none */
  | { type: 'event'; namespace: string; id: string; name: string; args: unknown[] };

function parseJson(text: string): unknown {
  try {
    return parsedMessage(text);
  } catch (error) {
    throw error instanceof SyntaxError ? new MessageError('a packet must contain JSON', { cause: error }) : error;
  }
}

/** Parses the content of an Engine.IO packet. @throws MessageError if it breaks a rule */
function readPacket(packet: unknown): IoPacket {
  if (typeof packet !== 'string') throw new MessageError('a packet must be text');
  const [head, type, namespace = NAMESPACE, id = ''] = PACKET.exec(packet) ?? [];
  if (head === undefined) throw new MessageError('a packet must follow version 5 of the Socket.IO protocol');
  const json = packet.slice(head.length);
  const data = json === '' ? undefined : parseJson(json);
  switch (type) {
    case CONNECT:
      if (data !== undefined && !Handshake.Check(data)) throw new MessageError('a handshake must be an object');
      return { type: 'connect', namespace };
    case DISCONNECT:
      return { type: 'disconnect', namespace };
    case EVENT: {
      if (!Event.Check(data) || typeof data[0] !== 'string') {
        throw new MessageError('an event must be an array that begins with its name');
      }
      const [name, ...args] = data;
      return { type: 'event', namespace, id, name, args };
    }
    default:
      throw new MessageError('a client must send only handshakes and events');
  }
}

/** Makes the packet for a client that joined the namespace. @param sid secret id of its session in the namespace */
const joinedPacket = (sid: string): string => CONNECT + JSON.stringify({ sid });
const refusedPacket = (namespace: string, message: string): string =>
  `${CONNECT_ERROR}${namespace === NAMESPACE ? '' : `${namespace},`}${JSON.stringify({ message })}`;
/** Makes the packet that acknowledges an event. @param id the event's number */
const answerPacket = (id: string, answer: string | null): string => ACK + id + JSON.stringify([answer]);
/** Packet for a client that the server removed from the namespace. */
const LEFT_PACKET = DISCONNECT;
