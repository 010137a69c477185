/** A TCP proxy that cuts connections for tests, before or after the bytes in flight arrive. */

/** Outcome of bytes in flight. `lost`: the connection ends before they arrive; `last`: it ends after. */
export type Fate = 'passed' | 'lost' | 'last' | 'held';

export interface CuttingProxy extends Disposable {
  readonly port: number;
}

interface Side {
  /** Null until the server's side is connected. */
  other: Bun.Socket<Side> | null;
  early: Uint8Array[];
}

/** @param fate decides for each piece of bytes; `held` bytes are never passed on, and the connection stays open */
export function cuttingProxy(target: number, fate: (to: 'server' | 'client') => Fate): CuttingProxy {
  const pass = (from: Bun.Socket<Side>, to: Bun.Socket<Side>, bytes: Uint8Array, direction: 'server' | 'client') => {
    const outcome = fate(direction);
    if (outcome === 'passed' || outcome === 'last') to.write(bytes);
    if (outcome !== 'lost' && outcome !== 'last') return;
    to.end();
    from.terminate();
  };
  const listener = Bun.listen<Side>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      async open(client) {
        client.data = { other: null, early: [] };
        try {
          const server = await Bun.connect<Side>({
            hostname: '127.0.0.1',
            port: target,
            data: { other: client, early: [] },
            socket: {
              data: (socket, bytes) => pass(socket, client, bytes, 'client'),
              close: () => void client.end(),
              error() {},
            },
          });
          client.data.other = server;
          for (const bytes of client.data.early.splice(0)) pass(client, server, bytes, 'server');
        } catch {
          // The server is not there.
          client.terminate();
        }
      },
      data(client, bytes) {
        const { other, early } = client.data;
        if (other === null) early.push(Uint8Array.from(bytes));
        else pass(client, other, bytes, 'server');
      },
      close: (client) => void client.data?.other?.end(),
      error() {},
    },
  });
  return { port: listener.port, [Symbol.dispose]: () => listener.stop(true) };
}
