/** How a server begins to listen, and how it stops. */
import { OperatorError } from './errors.ts';

/**
 * Starts a server.
 * @param listen what starts it
 * @throws OperatorError where the address can't be listened on
 */
export function listening<T>(what: string, { hostname, port }: { hostname: string; port: number }, listen: () => T): T {
  try {
    return listen();
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    const problem = `${what} can not listen on ${hostname}:${port}`;
    if (code === 'EADDRINUSE') {
      throw new OperatorError(`${problem}: the port is in use.`, 'Stop what uses it, or choose another.', { cause });
    }
    if (typeof code === 'string') {
      throw new OperatorError(`${problem}: ${code}.`, 'Choose an address and port that this machine lets you use.', {
        cause,
      });
    }
    throw cause;
  }
}

/** How long requests that are in hand may still take when a server stops. */
const GRACE_MS = 5_000;
const POLL_MS = 5;

/**
 * Takes no more requests, lets those in hand be answered, then closes what is open. Connections that idle, as clients
 * keep them, hold nothing up.
 */
export async function stopGracefully(server: Bun.Server<unknown>): Promise<void> {
  const stopped = server.stop();
  const deadline = Date.now() + GRACE_MS;
  while (server.pendingRequests > 0 && Date.now() < deadline) await Bun.sleep(POLL_MS);
  await server.stop(true);
  await stopped;
}
