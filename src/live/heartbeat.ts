/** When connections are asked whether their clients are there. */

/** How much later than due a question may come before it counts as late, in intervals. */
const LATE = 1.5;

/**
 * What is to run at each interval.
 * @param now the clock, in milliseconds
 * @param check asks the connections; `late` where this process was busy for so long that it runs its timers before it
 * reads what came meanwhile, so that silence says nothing of a client
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
