/** A pause in real time, for tests that kill a process at a random point of its work. */

/**
 * Lets other processes work before a test kills one of them. Their progress depends on the machine, so no test may rely on it.
 */
export const moment = (milliseconds: number): Promise<void> => Bun.sleep(milliseconds);
