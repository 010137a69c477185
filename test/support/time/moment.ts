/** A moment of the real time, for a process that nothing but time can find at another place. */

/**
 * Lets about so many milliseconds pass for other processes, before one of them is killed. How far they come depends on
 * the machine, so no test may expect anything of it.
 */
export const moment = (milliseconds: number): Promise<void> => Bun.sleep(milliseconds);
