/** Socket.IO clients at `/socket.io/`, by WebSocket or long polling. */
import { Server as Engine } from '@socket.io/bun-engine';
import type { Socket as EngineSocket } from '@socket.io/bun-engine/dist/socket';
import type { WebSocketData } from '@socket.io/bun-engine/dist/transports/websocket';
import { BodyError, bodyText } from '../http/request-body.ts';
import { excerpt, MAX_MESSAGE, MessageError } from './client-message.ts';
import { closeCodes, type EndReason } from './guard.ts';
import { IoConnection, type IoConnectionOptions } from './io-connection.ts';
import { checkBody } from './io-packets.ts';

export interface SocketIoOptions extends IoConnectionOptions {
  /** Milliseconds between two pings, and until one must be answered. */
  pingIntervalMs: number;
  pingTimeoutMs: number;
}

type WebSocket = Bun.ServerWebSocket<WebSocketData>;

/** The library's clients by session id. */
const clientsOf = (engine: Engine) => Reflect.get(engine, 'clients') as Map<string, EngineSocket>;

/**
 * Lets go of a client's first request, of which the library keeps some kilobytes until the client is gone: its headers, and
 * all that stands around its listener, which forgets the client. Call it before others listen, and forget the client then.
 */
function releaseRequest(engineSocket: EngineSocket): void {
  engineSocket.off('close');
  Object.assign(engineSocket.request, { headers: {}, _query: {} });
}

export type SocketIo = ReturnType<typeof socketIo>;

/** The Socket.IO server, as handlers of HTTP requests and WebSockets. The library does Engine.IO, on which it stands. */
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
  /** WebSockets that asked to take over from long polling: the library starts a timer for each time they ask. */
  const probing = new WeakSet<WebSocket>();

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
        // A WebSocket is closed by whoever called, with the code of the reason.
        if (engineSocket.transport.name === 'polling') engineSocket.transport.close();
        throw error;
      }
    });
    engineSocket.on('packetCreate', ({ data }) =>
      connection.guard(() => connection.queued(typeof data === 'string' ? data.length : 0)),
    );
    engineSocket.on('drain', () => connection.guard(() => connection.drained()));
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
      const all = [...clients.values()];
      engine.close();
      // The library waits for a client of long polling to fetch what is queued for it, however long that takes.
      for (const { transport } of all) transport.close();
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
