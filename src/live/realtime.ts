/** Everything that is pushed to clients: what the API's server needs of it. */
import type { WebSocketData } from '@socket.io/bun-engine/dist/transports/websocket';
import type { Registry } from 'prom-client';
import type { Pushed } from '../api/server.ts';
import type { Snapshots } from '../store/reader.ts';
import { type FeedEvent, startFeed } from './feed.ts';
import { connectionMetrics, subscriptionMetrics } from './metrics.ts';
import type { SocketIo } from './socket-io.ts';
import { subscriptions as noSubscriptions } from './subscriptions.ts';
import { RpcConnection, type RpcData } from './websocket.ts';

export interface RealtimeOptions {
  snapshots: Snapshots;
  registry: Registry;
  /** Milliseconds between two questions whether a client is there, and until it must have answered. */
  pingIntervalMs: number;
  pingTimeoutMs: number;
  /** Bytes that may wait for one client. */
  maxBacklog: number;
  /** Answers long polling, whose requests belong together, where this is one of several threads. */
  polling?: (request: Request) => Promise<Response>;
  log: (event: FeedEvent) => void;
}

/** Of a WebSocket: whose it is. */
export type SocketData = RpcData | WebSocketData;
type Socket = Bun.ServerWebSocket<SocketData>;
type Handler = Realtime['routes'][string];

export type Realtime = Pushed<SocketData>;

/** The longest message a client may send. */
const MAX_MESSAGE = 1_000_000;

const isRpc = (socket: Socket): socket is Bun.ServerWebSocket<RpcData> => 'rpc' in socket.data;
const isEngine = (socket: Socket): socket is Bun.ServerWebSocket<WebSocketData> => 'transport' in socket.data;

const refusal = (status: number, error: string, message: string): Response =>
  Response.json({ statusCode: status, error, message }, { status, headers: { 'access-control-allow-origin': '*' } });

export async function startRealtime(options: RealtimeOptions): Promise<Realtime> {
  const { snapshots, registry, pingIntervalMs, pingTimeoutMs, maxBacklog, polling, log } = options;
  const subscriptions = noSubscriptions();
  subscriptionMetrics(registry, () => subscriptions.counts());
  const rpcMetrics = connectionMetrics(registry, 'websocket');
  const rpcConnections = new Set<RpcConnection>();
  const ioOptions = {
    subscriptions,
    metrics: connectionMetrics(registry, 'socket_io'),
    pingIntervalMs,
    pingTimeoutMs,
    maxBacklog,
  };
  let io: SocketIo | null = null;
  /** Loaded by the first who asks: it takes as long as half of all else at the start. */
  const loadIo = async (): Promise<SocketIo> => {
    const { socketIo } = await import('./socket-io.ts');
    io ??= socketIo(ioOptions);
    return io;
  };
  const stopFeed = await startFeed({ snapshots, subscriptions, log });
  let lastBeat = performance.now();
  const heartbeat = setInterval(() => {
    const now = performance.now();
    // A thread that was busy for long runs its timers before it reads what came meanwhile.
    const late = now - lastBeat > pingIntervalMs * 1.5;
    lastBeat = now;
    for (const connection of rpcConnections) connection.checkAlive(late);
  }, pingIntervalMs);

  const connectRpc: Handler = (request, server) => {
    const data = { rpc: new RpcConnection(subscriptions, rpcMetrics) };
    if (server.upgrade(request, { data })) return undefined;
    return refusal(426, 'Upgrade Required', 'This is the address of a WebSocket');
  };
  const engineRequest: Handler = async (request, server) => {
    if (polling !== undefined && !request.headers.has('upgrade')) return polling(request);
    const { engine } = io ?? (await loadIo());
    // It upgrades requests to sockets of its own kind alone.
    const response = await engine.handleRequest(request, server as Bun.Server<WebSocketData>);
    // Its 500 means one thing: the request asks for another protocol than WebSocket, or asks for it wrongly.
    return response.status === 500 ? refusal(400, 'Bad Request', 'The upgrade to WebSocket is malformed') : response;
  };

  return {
    routes: {
      '/extended/v1/ws': connectRpc,
      '/extended/v1/ws/': () => refusal(400, 'Bad Request', 'The WebSocket is at /extended/v1/ws'),
      '/socket.io': engineRequest,
      '/socket.io/': engineRequest,
    },
    websocket: {
      maxPayloadLength: MAX_MESSAGE,
      backpressureLimit: maxBacklog,
      closeOnBackpressureLimit: true,
      // Seconds. Both protocols ask by themselves whether the client is there.
      idleTimeout: 960,
      sendPings: false,
      open(socket) {
        if (isRpc(socket)) {
          rpcConnections.add(socket.data.rpc);
          socket.data.rpc.opened(socket);
        } else if (isEngine(socket)) io?.engine.onWebSocketOpen(socket);
      },
      message(socket, message) {
        if (isRpc(socket)) socket.data.rpc.received(typeof message === 'string' ? message : message.toString('utf8'));
        else if (isEngine(socket)) io?.engine.onWebSocketMessage(socket, message);
      },
      pong(socket) {
        if (isRpc(socket)) socket.data.rpc.heard();
      },
      close(socket, code, reason) {
        if (isRpc(socket)) {
          rpcConnections.delete(socket.data.rpc);
          socket.data.rpc.closed();
        } else if (isEngine(socket)) io?.engine.onWebSocketClose(socket, code, reason);
      },
    },
    async stop() {
      clearInterval(heartbeat);
      await stopFeed();
      for (const connection of rpcConnections) connection.close();
      io?.close();
    },
  };
}
