/** A moment of the real time, for a process that nothing but time can find at another place. */

/**
 * Gives other processes some time to work, before one of them is killed. Their progress depends on the machine, so no test may
 * rely on it.
 */
export const moment = (milliseconds: number): Promise<void> => Bun.sleep(milliseconds);
