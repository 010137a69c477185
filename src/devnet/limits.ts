/** Limits of the commands of a simulated node, which its routes and the console share. */

/** Maximum number of blocks that a command mines up to a height, and maximum number of cycles. */
export const MAX_BLOCKS = 1_000;
export const MAX_CYCLES = 20;
/** Maximum seconds that a command moves the time: a year. */
export const MAX_STEP = 31_536_000;

/** Maximum depth of a fork, in blocks. */
export const MAX_FORK_DEPTH = 100;
