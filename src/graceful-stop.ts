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
