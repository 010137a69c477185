/** The heartbeat of connections. */

/** Intervals after the last check from which on a check counts as late. */
const LATE = 1.5;

/**
 * Creates the function to call at each interval.
 * @param now the clock, in milliseconds
 * @param check pings the connections. `late` means that this process was busy for so long that pongs may have arrived
 * that it hasn't read yet, so that a missing pong says nothing about a client
 */
export function heartbeat(intervalMs: number, now: () => number, check: (late: boolean) => void): () => void {
  let last = now();
  return () => {
    const time = now();
    const late = time - last > intervalMs * LATE;
    last = time;
    check(late);
  };
}
