/** Reports whether another program listens on a TCP port of this machine. */
export function isPortTaken(hostname: string, port: number): boolean {
  try {
    Bun.listen({ hostname, port, socket: { data() {} } }).stop(true);
    return false;
  } catch {
    return true;
  }
}
