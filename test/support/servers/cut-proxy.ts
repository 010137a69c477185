/** A TCP proxy on the loopback that cuts connections after a number of bytes, or carries nothing at all. */
import type { Socket, TCPSocketListener } from 'bun';

/** Point at which the next connection is cut: after a number of bytes from the client, or from the server. */
export interface Cut {
  side: 'client' | 'server';
  after: number;
}

export interface CutProxy extends Disposable {
  readonly port: number;
  /** Cuts each open connection after this many more bytes. Bytes before the cut arrive. Null stops cutting. */
  cutAfter(cut: Cut | null): void;
  /** Bytes carried since {@link CutProxy.count} was called last. */
  count(): Record<Cut['side'], number>;
  /** Ends all connections. */
  sever(): void;
  /** Sets whether the proxy holds all bytes back, like a network that carries nothing. */
  hold(isHeld: boolean): void;
}

/** Outcome of bytes in flight. `lost`: the connection ends before they arrive; `last`: it ends after; `held`: they never do. */
export type Fate = 'passed' | 'lost' | 'last' | 'held';

type Side = Cut['side'];
interface Pair {
  sockets: Partial<Record<Side, Socket<Pair>>>;
  /** Bytes that each side has yet to accept. */
  waiting: Record<Side, Uint8Array[]>;
}

const otherOf = (side: Side): Side => (side === 'client' ? 'server' : 'client');

/**
 * @param target the port of the server on the loopback
 * @param port the proxy's own port; by default any that is free, which another process may get after the proxy
 * @param fate decides for each piece of bytes; by default all arrive
 */
export function cutProxy(target: number, port = 0, fate: (to: Side) => Fate = () => 'passed'): CutProxy {
  const pairs = new Set<Pair>();
  let cut: Cut | null = null;
  let carried: Record<Side, number> = { client: 0, server: 0 };
  let isHeld = false;

  function end(pair: Pair): void {
    pairs.delete(pair);
    for (const side of ['client', 'server'] as const) {
      // The bytes before the cut arrive, then the end.
      pair.sockets[side]?.end();
    }
  }

  /** Sends a side its waiting bytes, as many as it accepts. */
  function flush(pair: Pair, side: Side): void {
    const socket = pair.sockets[side];
    if (socket === undefined || isHeld) return;
    for (let next = pair.waiting[side].shift(); next !== undefined; next = pair.waiting[side].shift()) {
      const written = socket.write(next);
      if (written < next.length) {
        pair.waiting[side].unshift(next.subarray(Math.max(0, written)));
        return;
      }
    }
  }

  function carry(pair: Pair, from: Side, data: Uint8Array): void {
    const outcome = fate(otherOf(from));
    if (outcome === 'lost') end(pair);
    if (outcome === 'lost' || outcome === 'held') return;
    const room = cut?.side === from ? Math.max(0, cut.after - carried[from]) : data.length;
    const part = new Uint8Array(data.subarray(0, room));
    carried[from] += part.length;
    pair.waiting[otherOf(from)].push(part);
    flush(pair, otherOf(from));
    if (outcome === 'last' || room < data.length || (cut?.side === from && carried[from] >= cut.after)) end(pair);
  }

  const handlers = (side: Side) => ({
    data: (socket: Socket<Pair>, data: Uint8Array) => carry(socket.data, side, data),
    drain: (socket: Socket<Pair>) => flush(socket.data, side),
    close: (socket: Socket<Pair>) => end(socket.data),
    error: (socket: Socket<Pair>) => end(socket.data),
  });

  const listener: TCPSocketListener<Pair> = Bun.listen<Pair>({
    hostname: '127.0.0.1',
    port,
    socket: {
      ...handlers('client'),
      async open(socket) {
        const pair: Pair = { sockets: { client: socket }, waiting: { client: [], server: [] } };
        socket.data = pair;
        pairs.add(pair);
        try {
          const server = await Bun.connect<Pair>({
            hostname: '127.0.0.1',
            port: target,
            data: pair,
            socket: handlers('server'),
          });
          pair.sockets.server = server;
          if (pairs.has(pair)) flush(pair, 'server');
          else server.end();
        } catch {
          // Nothing listens there; the client learns it by the end of its connection.
          end(pair);
        }
      },
    },
  });

  return {
    port: listener.port,
    cutAfter(next) {
      cut = next;
      carried = { client: 0, server: 0 };
    },
    count() {
      const counted = carried;
      carried = { client: 0, server: 0 };
      return counted;
    },
    sever() {
      for (const pair of pairs) end(pair);
    },
    hold(held) {
      isHeld = held;
      if (held) return;
      for (const pair of pairs) for (const side of ['client', 'server'] as const) flush(pair, side);
    },
    [Symbol.dispose]() {
      for (const pair of pairs) end(pair);
      listener.stop(true);
    },
  };
}
