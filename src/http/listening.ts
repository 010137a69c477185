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

/** The flags by which an operator says where a server listens, as far as there are any. */
export interface AddressFlags {
  host?: string;
  port?: string;
}

/** What the operator can do about an address that can't be listened on. */
function remedyOf(code: string, { host, port }: AddressFlags): string {
  const withFlag = (flag?: string): string => (flag === undefined ? '' : ` with ${flag}`);
  if (code === 'EADDRINUSE') return `Stop the program that uses the port, or choose another port${withFlag(port)}.`;
  if (code === 'EACCES') return `Choose a port that this user may use${withFlag(port)}.`;
  return `Choose an address of this machine${withFlag(host)}.`;
}

/**
 * Starts a server.
 * @param what what listens, as an error says it
 * @param listen what starts it
 * @throws OperatorError where the address can't be listened on
 */
export function listening<T>(
  what: string,
  flags: AddressFlags,
  { hostname, port }: { hostname: string; port: number },
  listen: () => T,
): T {
  try {
    return listen();
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (typeof code !== 'string') throw cause;
    throw new OperatorError(
      `${what} cannot listen on ${hostname}:${port}: ${REASONS[code] ?? code}.`,
      remedyOf(code, flags),
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
