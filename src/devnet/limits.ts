/** Limits of the commands of a simulated node, which its routes and the console share. */

/** Maximum number of blocks that a command mines up to a height, and maximum number of cycles. */
export const MAX_BLOCKS = 1_000;
export const MAX_CYCLES = 20;
/** Maximum seconds that a command moves the time: a year. */
export const MAX_STEP = 31_536_000;

/** Maximum depth of a fork, in blocks. */
export const MAX_FORK_DEPTH = 100;
/** Maximum base units of a token that the interpreter mints at once: it takes a 64-bit number. */
export const MAX_MINT = 2n ** 64n - 1n;
/** Maximum base units that a command mints; the interpreter takes a second for them. */
export const MAX_MINTED = 10_000n * MAX_MINT;
/** The newest Clarity version in the epoch of a chain that runs contracts. */
export const EPOCH_VERSION = 5;
