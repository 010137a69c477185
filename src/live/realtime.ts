/** The realtime protocols as the API's server uses them. */
import { type Clock, systemClock } from '../base/clock.ts';
import type { Turns } from '../base/turns.ts';
import { ApiError, problem } from '../http/errors.ts';
import type { RealtimeServer } from '../http/listener.ts';
import type { RateLimiter } from '../http/rate-limit.ts';
import { NoSnapshotError } from '../store/model/read-errors.ts';
import type { Snapshots } from '../store/read/snapshots.ts';
import {
  type ConnectionEvent,
  type ControlFrame,
  type CountMessages,
  connectionGuard,
  inboxesOf,
  type LiveMetrics,
  MAX_MESSAGE,
  MessageError,
  PING,
  PONG,
  type Received,
} from './connection.ts';
import { type FeedEvent, startFeed } from './feed.ts';
import type { IoSocketData, SocketIo } from './socket-io.ts';
import { createSubscriptions, type Subscriptions } from './subscriptions.ts';
import { RpcConnection } from './websocket.ts';

export type RealtimeEvent = FeedEvent | ConnectionEvent;

/** Maximum bytes that may wait for one client. */
const MAX_BACKLOG = 8_388_608;

/** Limits of clients. A client that exceeds one is disconnected. */
export interface ClientLimits {
  /** Milliseconds between two pings to a client. A WebSocket client must answer one before the next. */
  pingIntervalMs: number;
  /** Milliseconds for a Socket.IO client's answer to a ping; the ping interval by default. */
  pingTimeoutMs: number;
  /** Maximum bytes that may wait for one client. */
  maxBacklog: number;
}

interface RealtimeOptions {
  snapshots: Snapshots;
  metrics: LiveMetrics;
  limits: Partial<ClientLimits>;
  /** Answers long polling if there are several API threads: all requests of a connection must reach the same thread. */
  polling?: (request: Request, server: Bun.Server<unknown>) => Promise<Response>;
  log: (event: RealtimeEvent) => void;
  /** Counts the connections and messages of clients; null if they are unlimited. */
  limiter: RateLimiter | null;
  clientAddress: (request: Request, server: Bun.Server<unknown>) => string;
  /** Whether another thread has counted the request already, but not the packets in its body. */
  isCounted: (request: Request) => boolean;
  turns: Turns;
  clock?: Clock;
}

type SocketData = RpcConnection | IoSocketData;
type Socket = Bun.ServerWebSocket<SocketData>;
type Handler = Realtime['routes'][string];

export const REALTIME_PATHS = ['/extended/v1/ws', '/socket.io'] as const;
const [WEBSOCKET, ENGINE] = REALTIME_PATHS;

type Realtime = RealtimeServer<SocketData>;

const isRpc = (socket: Socket): socket is Bun.ServerWebSocket<RpcConnection> => socket.data instanceof RpcConnection;

/** The handlers of a protocol's WebSockets. @template Data the data of its sockets */
interface SocketHandlers<Data> {
  opened(socket: Bun.ServerWebSocket<Data>): void;
  received(socket: Bun.ServerWebSocket<Data>, message: string | Buffer): void;
  receivedControlFrame(socket: Bun.ServerWebSocket<Data>, frame: ControlFrame): void;
  closed(socket: Bun.ServerWebSocket<Data>, code: number, reason: string): void;
}

const refusal = ({ status, message, code, headers }: ApiError): Response =>
  Response.json(problem(status, message, code), {
    status,
    headers: { ...headers, 'access-control-allow-origin': '*' },
  });

/** Makes the function that counts the requests of a handler, and refuses those beyond the limits of their clients. */
function limitedHandlers({ limiter, clientAddress, isCounted }: RealtimeOptions) {
  /**
   * Counts a request.
   * @returns a function that counts messages of the connection that the request opens
   * @throws ApiError beyond the limit, or if the request lacks a required key
   */
  function countRequest(request: Request, server: Bun.Server<unknown>): CountMessages {
    if (limiter === null) return () => {};
    const client = limiter.clientOf(request.headers, clientAddress(request, server));
    if (!isCounted(request)) limiter.charge(client, 1);
    return (messages) => {
      try {
        for (let message = 0; message < messages; message++) limiter.charge(client, 1);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        throw new MessageError(`a client must NOT send more than ${client.perMinute} messages a minute`, {
          cause: error,
        });
      }
    };
  }

  return (
    answer: (request: Request, server: Bun.Server<unknown>, count: CountMessages) => ReturnType<Handler>,
  ): Handler =>
    (request, server) => {
      let count: CountMessages;
      try {
        count = countRequest(request, server);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        return refusal(error);
      }
      return answer(request, server, count);
    };
}

const PING_INTERVAL_MS = 5_000;

/** Starts realtime: both protocols, their heartbeat, and the feed of changes. */
export function startRealtime(options: RealtimeOptions): Realtime {
  const { snapshots, metrics, limits, polling, log, turns, clock = systemClock } = options;
  const { pingIntervalMs = PING_INTERVAL_MS, pingTimeoutMs = pingIntervalMs, maxBacklog = MAX_BACKLOG } = limits;
  const subscriptions = createSubscriptions();
  metrics.subscriptions(() => subscriptions.counts());
  const rpcMetrics = metrics.connections('websocket');
  const rpcConnections = new Set<RpcConnection>();
  const rpcOptions = { subscriptions, metrics: rpcMetrics, guard: connectionGuard('websocket', rpcMetrics, log) };
  const ioMetrics = metrics.connections('socket_io');
  const ioOptions = {
    subscriptions,
    metrics: ioMetrics,
    guard: connectionGuard('socket_io', ioMetrics, log),
    pingIntervalMs,
    pingTimeoutMs,
    maxBacklog,
    clock,
  };
  const rpc: SocketHandlers<RpcConnection> = {
    opened(socket) {
      rpcConnections.add(socket.data);
      socket.data.opened(socket);
    },
    received: ({ data }, message) => data.received(message),
    receivedControlFrame: ({ data }, frame) => data.receivedControlFrame(frame),
    closed({ data }) {
      rpcConnections.delete(data);
      data.closed();
    },
  };
  /** Null before the first request for Socket.IO, so also before its first WebSocket. */
  let io: SocketIo | null = null;
  const handlersOf = (socket: Socket) => (isRpc(socket) ? rpc : io) as SocketHandlers<SocketData>;
  const inboxes = inboxesOf<Socket>(turns, (socket, message) => {
    // The connection is closed, so its waiting messages are dropped.
    if (socket.readyState !== WebSocket.OPEN) return;
    if (typeof message === 'symbol') handlersOf(socket).receivedControlFrame(socket, message);
    else handlersOf(socket).received(socket, message);
  });
  const optionsOf = (socket: Socket) => (isRpc(socket) ? rpcOptions : ioOptions);
  // After a close frame, the runtime would continue to read until the client closes the connection.
  const receive = (socket: Socket, message: Received) =>
    optionsOf(socket).guard(
      () => inboxes.receive(socket, message),
      () => socket.terminate(),
    );
  const stopFeed = startFeed({ snapshots, subscriptions, log, clock });
  try {
    refuseBalances(snapshots, subscriptions);
  } catch (cause) {
    if (!(cause instanceof NoSnapshotError)) log({ event: 'unexpected_error', part: 'realtime', cause });
  }
  const beat = heartbeat(pingIntervalMs, clock.monotonic, (late) => {
    for (const connection of rpcConnections) connection.checkAlive(late);
  });
  const endBeating = clock.every(pingIntervalMs, beat);

  const withLimit = limitedHandlers(options);
  const connectRpc = withLimit((request, server, count) => {
    const data = new RpcConnection(rpcOptions, count);
    if (server.upgrade(request, { data })) return undefined;
    return refusal(new ApiError(426, 'This is the address of a WebSocket'));
  });
  const engineRequest = withLimit(async (request, server, count) => {
    if (polling !== undefined && !request.headers.has('upgrade')) return polling(request, server);
    // Loaded by the first request, since most servers have no Socket.IO clients.
    const { ioRefusal, socketIo } = await import('./socket-io.ts');
    io ??= socketIo(ioOptions);
    try {
      // The library only upgrades requests to sockets of this type.
      const response = await io.handle(request, server as Bun.Server<IoSocketData>, count);
      // The library answers 500 only if the request is for another protocol than WebSocket, or if it is malformed.
      return response.status === 500 ? refusal(new ApiError(400, 'The upgrade to WebSocket is malformed')) : response;
    } catch (error) {
      const apiError = ioRefusal(error);
      if (apiError === undefined) throw error;
      ioMetrics.refused();
      log({ event: 'client_message_refused', protocol: 'socket_io', reason: apiError.message });
      return refusal(apiError);
    }
  });

  return {
    routes: {
      [WEBSOCKET]: connectRpc,
      [`${WEBSOCKET}/`]: () => refusal(new ApiError(400, `The WebSocket is at ${WEBSOCKET}`)),
      [ENGINE]: engineRequest,
      [`${ENGINE}/`]: engineRequest,
    },
    websocket: {
      maxPayloadLength: MAX_MESSAGE,
      backpressureLimit: maxBacklog,
      closeOnBackpressureLimit: true,
      // The maximum, in seconds: both protocols send pings themselves.
      idleTimeout: 960,
      sendPings: false,
      open: (socket) => handlersOf(socket).opened(socket),
      message: receive,
      ping(socket) {
        // The runtime queues a PONG for each PING. If the client reads none, they pile up.
        if (socket.getBufferedAmount() <= maxBacklog) return receive(socket, PING);
        optionsOf(socket).metrics.cutOff();
        socket.terminate();
      },
      pong: (socket) => receive(socket, PONG),
      close(socket, code, reason) {
        inboxes.drop(socket);
        handlersOf(socket).closed(socket, code, reason);
      },
    },
    async stop() {
      endBeating();
      await stopFeed();
      for (const connection of rpcConnections) connection.close();
      io?.close();
    },
  };
}

/** Refuses the topic with all that an account ever sent, received and paid, if the index began at a block. */
const refuseBalances = (snapshots: Snapshots, subscriptions: Subscriptions): void =>
  snapshots.read((read) => {
    const from = read.chain.historyFrom();
    if (from === null) return;
    const reason = `address-stx-balance needs older blocks: the history of this server begins at block ${from}`;
    subscriptions.refuse('address-stx-balance', reason);
  });

/** Intervals since the last check after which a check counts as late. */
const LATE_INTERVALS = 1.5;

/**
 * Creates the function to call at each interval.
 * @param now the clock, in milliseconds
 * @param check pings the connections. `late` means that this process was busy for so long that it may not have read pongs
 * yet, so that a missing pong doesn't mean that the client is gone
 */
export function heartbeat(intervalMs: number, now: () => number, check: (late: boolean) => void): () => void {
  let last = now();
  return () => {
    const time = now();
    const late = time - last > intervalMs * LATE_INTERVALS;
    last = time;
    check(late);
  };
}
