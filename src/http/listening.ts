/** How a server begins to listen, and how it stops. */
import { type Clock, pause } from '../base/clock.ts';
import { OperatorError } from '../base/errors.ts';

/** Why an address can't be listened on, by the code of the error. */
const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use',
  EADDRNOTAVAIL: 'this machine does not have the address',
  EACCES: 'this user may not use the port',
  // Bun reports a name that no resolver knows by these codes, on different systems.
  EINVAL: 'the name of the host is not known',
  ENOENT: 'the name of the host is not known',
  ENOTFOUND: 'the name of the host is not known',
};

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
    if (typeof code !== 'string') throw cause;
    throw new OperatorError(
      `${what} cannot listen on ${hostname}:${port}: ${REASONS[code] ?? code}.`,
      code === 'EADDRINUSE'
        ? 'Stop the program that uses the port, or choose another port.'
        : 'Choose an address and port that this machine lets you use.',
      { cause },
    );
  }
}

/** How long requests that are in hand may still take when a server stops. */
export const GRACE_MS = 5_000;
const POLL_MS = 5;

/**
 * Takes no more requests, lets those in hand be answered, then closes what is open. Connections that idle, as clients
 * keep them, hold nothing up.
 */
export async function stopGracefully(server: Bun.Server<unknown>, clock: Clock): Promise<void> {
  const stopped = server.stop();
  let late = false;
  const inTime = clock.after(GRACE_MS, () => {
    late = true;
  });
  while (server.pendingRequests > 0 && !late) await pause(clock, POLL_MS);
  inTime();
  await server.stop(true);
  await stopped;
}
